package oom

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// world is a tracker with a cgroup whose counter the test sets.
type world struct {
	*Tracker
	t    *testing.T
	file string
}

func newWorld(t *testing.T, foreign bool) *world {
	t.Helper()
	dir := group(t, map[string]string{"memory.events": "oom_kill 0\n"})
	tracker := New([]string{dir}, foreign, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := tracker.Close(); err != nil {
			t.Error(err)
		}
	})
	if tracker.watcher == nil {
		t.Skip("processes cannot be followed here")
	}
	return &world{Tracker: tracker, t: t, file: filepath.Join(dir, "memory.events")}
}

// counted sets the counter of kills.
func (w *world) counted(n int) {
	w.t.Helper()
	f, err := os.OpenFile(w.file, os.O_WRONLY, 0) // the same file, since the tracker has it open
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "oom_kill %d\n", n); err != nil {
		w.t.Fatal(err)
	}
}

// shell starts a shell that waits for a child and then exits with 0, as in a job. It
// returns the child.
func shell(t *testing.T, child string) Process {
	t.Helper()
	cmd := exec.Command("bash", "-c", child+" & echo $!; wait; exit 0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	var of stat
	eventually(t, "it runs its program", func() bool {
		of, err = readStat(pid)
		return err == nil && of.name != "bash"
	})
	t.Cleanup(func() {
		_ = unix.Kill(pid, unix.SIGTERM)
		_ = cmd.Wait()
	})
	return Process{PID: pid, Start: of.start, Size: 1 << 20}
}

// eventually waits for a condition that soon holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("never: ", what)
		}
	}
}

func (w *world) following() int {
	w.watcher.mu.Lock()
	defer w.watcher.mu.Unlock()
	return len(w.watcher.byFD)
}

// TestVictimBesideAnotherJob: a child ends by SIGKILL while the counter grows, and its
// shell exits with 0. The kill is attributed to that job, and not to the one beside it.
func TestVictimBesideAnotherJob(t *testing.T) {
	w := newWorld(t, true)
	w.Start("a", "first")
	w.Start("b", "second")
	victim, other := shell(t, "sleep 1000"), shell(t, "sleep 1000")
	w.TrackProcesses("a", 0, []Process{victim})
	w.TrackProcesses("b", 0, []Process{other})
	w.counted(1)
	if err := unix.Kill(victim.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end is seen", func() bool { return w.following() == 1 })
	a, b := w.Finish("a", Exit{At: time.Now()}), w.Finish("b", Exit{At: time.Now()})
	if a.Grown != 1 || a.Share.Kills != 1 || a.Share.Doubt != 0 || len(a.Share.Others) != 0 {
		t.Errorf("the victim: %+v", a)
	}
	if want := fmt.Sprintf("sleep (pid %d)", victim.PID); a.Share.Seen && a.Share.Process != want {
		t.Errorf("the process is %q, want %q", a.Share.Process, want)
	}
	if b.Grown != 1 || b.Share.Kills+b.Share.Doubt != 0 || len(b.Share.Others) != 1 || b.Share.Others[0] != "first" {
		t.Errorf("the one beside it: %+v", b)
	}
	w.Remove("a")
	w.Remove("b")
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.ledger.growths) + len(w.ledger.ends); n != 0 {
		t.Errorf("%d useless entries are kept", n)
	}
}

// TestEndsThatAreNoKills: a process that ends by itself, or that we end, is not a victim.
func TestEndsThatAreNoKills(t *testing.T) {
	w := newWorld(t, true)
	w.Start("a", "first")
	w.Start("b", "second")
	w.Start("c", "third")
	exits, ours := shell(t, "sleep 1000"), shell(t, "sleep 1000")
	w.TrackProcesses("a", 0, []Process{exits})
	w.TrackProcesses("b", 0, []Process{ours})
	w.MarkKilledByUs("b")
	for p, signal := range map[Process]unix.Signal{exits: unix.SIGTERM, ours: unix.SIGKILL} {
		if err := unix.Kill(p.PID, signal); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the ends are seen", func() bool { return w.following() == 0 })
	w.counted(1)
	if f := w.Finish("b", Exit{At: time.Now(), Signal: 9, ByUs: true}); f.Share.Kills != 0 || f.Share.Doubt != 1 || f.Share.Likely {
		t.Errorf("finding %+v", f)
	}
}

// TestFollowsTheLarge: the large processes of a tree are watched, and the largest few
// whatever their size, but never without limit.
func TestFollowsTheLarge(t *testing.T) {
	var tree []Process
	for i := range 3 * maxPerJob {
		tree = append(tree, Process{PID: i + 2, Size: int64(i) << 20})
	}
	for _, c := range []struct{ processes, want int }{{0, 0}, {3, 3}, {10, alwaysNumber}, {40, 8}, {3 * maxPerJob, maxPerJob}} {
		got := toFollow(tree[:c.processes])
		if len(got) != c.want {
			t.Errorf("of %d processes %d are followed, want %d", c.processes, len(got), c.want)
		}
		if len(got) > 0 && got[0].PID != c.processes+1 {
			t.Errorf("of %d processes the largest is not the first: %+v", c.processes, got[0])
		}
	}
}

// TestManyGrowths: a job whose processes are killed again and again needs a limited
// amount of memory, and no kill is lost.
func TestManyGrowths(t *testing.T) {
	l := newLedger(at(0), 0, Cgroup{})
	l.start(at(0), 0, "a", "A")
	l.start(at(0), 0, "b", "B")
	const kills = 3 * maxGrowths
	for i := range int64(kills) {
		l.ended("a", End{At: at(10*i + 5), How: Killed})
		l.reading(at(10*i+6), i+1)
	}
	if len(l.growths) > maxGrowths || len(l.ends) > maxEnds {
		t.Errorf("%d growths, %d ends", len(l.growths), len(l.ends))
	}
	if s, _ := l.shareOf("a"); s.Kills != kills || s.Doubt != 0 {
		t.Errorf("share of %d kills: %+v", kills, s)
	}
	if s, _ := l.shareOf("b"); s.Kills+s.Doubt != 0 {
		t.Errorf("share of the other one: %+v", s)
	}
	if l.grown("b") != kills {
		t.Errorf("the counter has grown by %d", l.grown("b"))
	}
}
