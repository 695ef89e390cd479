package oom

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCgroupPaths(t *testing.T) {
	const v1 = "4:memory:/slurm/uid_1/job_2\n1:name=systemd:/x\n0::/y\n"
	const mounts = "30 20 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n" +
		"31 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct {
		name, groups, mounts string
		want                 []string
	}{
		{"hybrid", v1, mounts, []string{"/sys/fs/cgroup/memory/slurm/uid_1/job_2", "/sys/fs/cgroup/unified/y"}},
		{"v2", "0::/system.slice/job\n", "31 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			[]string{"/sys/fs/cgroup/system.slice/job"}},
		{"in a container", "0::/pod/7\n", "31 20 0:27 /pod/7 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			[]string{"/sys/fs/cgroup"}},
		{"nothing", "", "", nil},
	} {
		if got := memoryGroups(c.groups, c.mounts); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestKills(t *testing.T) {
	for text, want := range map[string]int64{
		"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n":               3,
		"low 0\nhigh 0\nmax 7\noom 2\noom_kill 2\noom_group_kill 0\n": 2,
		"": 0,
	} {
		if got := parseKills([]byte(text)); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// group creates a directory with the files of a cgroup.
func group(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUsedWithoutFiles(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		used  int64
	}{
		{"v2", map[string]string{"memory.events": "", "memory.max": "1000\n", "memory.current": "900\n",
			"memory.stat": "anon 500\nactive_file 100\ninactive_file 200\n"}, 600},
		{"v1", map[string]string{"memory.oom_control": "", "memory.limit_in_bytes": "1000\n", "memory.usage_in_bytes": "900\n",
			"memory.stat": "active_file 1\ninactive_file 1\ntotal_active_file 100\ntotal_inactive_file 200\n"}, 600},
		{"not read far from the limit", map[string]string{"memory.events": "", "memory.max": "1000\n", "memory.current": "700\n"}, 700},
		{"unlimited v1", map[string]string{"memory.oom_control": "", "memory.limit_in_bytes": "9223372036854771712\n", "memory.usage_in_bytes": "900\n"}, 0},
		{"unlimited v2", map[string]string{"memory.events": "", "memory.max": "max\n", "memory.current": "900\n"}, 0},
	} {
		counter := openCounter([]string{group(t, c.files)})
		if got := counter.used(); got != c.used {
			t.Errorf("%s: %d are used, want %d", c.name, got, c.used)
		}
		counter.close()
	}
}

// TestCounterAbove: a cgroup of v2 without the controller is counted with its parent.
func TestCounterAbove(t *testing.T) {
	above := group(t, map[string]string{"memory.events": "oom_kill 7\n"})
	leaf := filepath.Join(above, "step", "task")
	if err := os.MkdirAll(leaf, 0o700); err != nil {
		t.Fatal(err)
	}
	counter := openCounter([]string{leaf})
	defer counter.close()
	if got := counter.kills(); got != 7 {
		t.Errorf("%d kills are counted", got)
	}
}

// TestNoCgroup: without a readable cgroup nothing is done and nothing is found.
func TestNoCgroup(t *testing.T) {
	tracker := New(nil, false, slog.New(slog.DiscardHandler))
	tracker.Start("a", "a")
	tracker.MarkKilledByUs("a")
	tracker.TrackProcesses("a", 1, []Process{{PID: os.Getpid()}})
	if f := tracker.Finish("a", Exit{At: time.Now(), Signal: 9}); f.Grown != 0 || tracker.Limited() {
		t.Errorf("finding %+v", f)
	}
	tracker.Remove("a")
	if err := tracker.Close(); err != nil {
		t.Error(err)
	}
}

func TestPace(t *testing.T) {
	const limit = 8 << 30
	for _, c := range []struct {
		name        string
		used, was   int64
		since, cost time.Duration
		look        bool
	}{
		{"idle", limit / 4, limit / 4, time.Hour, 0, false},
		{"near", limit - limit/10, limit - limit/10, time.Hour, 0, true},
		{"near, just scanned", limit - limit/10, limit - limit/10, 10 * time.Millisecond, 0, false},
		{"near, and a scan is expensive", limit - limit/10, limit - limit/10, time.Second, 100 * time.Millisecond, false},
		{"grown by much", limit / 2, limit / 4, 2 * time.Second, 0, true},
	} {
		if got := shouldScan(c.used, c.was, limit, c.since, c.cost); got != c.look {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if g := nextCheck(limit, limit); g != quickestGap {
		t.Errorf("when it is full the next check is in %s", g)
	}
	if g := nextCheck(0, 1<<50); g != slowestGap {
		t.Errorf("when there is plenty of room the next check is in %s", g)
	}
}
