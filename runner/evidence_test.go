package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/oom"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestTerminationMessage(t *testing.T) {
	d := runnertest.New(job(`echo "license gone" > "$TORC_TERMINATION_FILE"; echo details >&2; exit 9`),
		job(`head -c 100000 /dev/zero | tr '\0' x > "$TORC_TERMINATION_FILE"`))
	o := testOptions(t, d)
	run(t, o)
	if e := d.Job(1).Attempts[0].Evidence; e.TerminationMessage != "license gone\n" || e.StderrTail != "details\n" {
		t.Errorf("evidence %+v", e)
	}
	if e := d.Job(2).Attempts[0].Evidence; len(e.TerminationMessage) != terminationSize {
		t.Errorf("message of %d bytes", len(e.TerminationMessage))
	}
	if left, _ := os.ReadDir(filepath.Join(o.OutputDir, output.TerminationDir)); len(left) != 0 {
		t.Errorf("%d files left", len(left))
	}
}

func TestOutputFiles(t *testing.T) {
	dir := t.TempDir()
	j := job("touch there")
	j.OutputFiles = []lease.GrantFile{{ID: 4, Path: "there"}, {ID: 5, Path: dir + "/not there"}}
	failed := job("touch other; exit 1")
	failed.OutputFiles = []lease.GrantFile{{ID: 6, Path: "no"}}
	d := runnertest.New(j, failed)
	o := testOptions(t, d)
	o.WorkDir = dir
	run(t, o)
	r := d.Job(1).Attempts[0]
	if e := r.Evidence; e.MissingOutputCount != 1 || !slices.Equal(e.MissingOutputs, []string{dir + "/not there"}) {
		t.Errorf("evidence %+v", e)
	}
	info, err := os.Stat(dir + "/there")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.FileTimes) != 1 || r.FileTimes[0].FileID != 4 ||
		int64(r.FileTimes[0].ModTime) != info.ModTime().Unix() {
		t.Errorf("times %+v", r.FileTimes)
	}
	if e := d.Job(2).Attempts[0].Evidence; e.MissingOutputCount != 0 {
		t.Errorf("a failed attempt's outputs do not matter: %+v", e)
	}
}

func TestMissingCommand(t *testing.T) {
	d := runnertest.New(job("no-such-command-anywhere --flag"))
	run(t, testOptions(t, d))
	e := d.Job(1).Attempts[0].Evidence
	if e.ExitCode == nil || *e.ExitCode != 127 {
		t.Errorf("evidence %+v", e)
	}
	contains(t, "stderr", e.StderrTail, "not found")
}

func TestSpawnErrors(t *testing.T) {
	for _, c := range []struct {
		name, command, dir, text string
		ofCommand                bool
		errno                    unix.Errno
	}{
		{"too long", "true " + strings.Repeat("x", 1<<18), "", "larger than the system allows", true, unix.E2BIG},
		{"NUL", "echo a\x00b", "", "NUL byte", true, unix.EINVAL},
		{"no directory", "true", "/no/such/dir", "working directory /no/such/dir", false, unix.ENOENT},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := runnertest.New(job(c.command))
			o := testOptions(t, d)
			o.WorkDir = c.dir
			run(t, o)
			e := d.Job(1).Attempts[0].Evidence
			contains(t, "error", e.SpawnError, c.text)
			if e.SpawnOfCommand != c.ofCommand || e.SpawnErrno != int(c.errno) {
				t.Errorf("evidence %+v", e)
			}
		})
	}
}

func TestDiskFull(t *testing.T) {
	d := runnertest.New(job("echo x > /dev/full"), job("echo 'No space left on device' >&2"))
	run(t, testOptions(t, d))
	if e := d.Job(1).Attempts[0].Evidence; !e.DiskFull {
		t.Errorf("evidence %+v", e)
	}
	if e := d.Job(2).Attempts[0].Evidence; e.DiskFull {
		t.Errorf("a successful attempt: %+v", e)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "large")
	grow := strings.Replace(hog, "while (1)", `system("touch `+flag+`"); while (1)`, 1)
	d := runnertest.New(job(grow + " & until [ -e " + flag + " ]; do sleep 0.01; done; sleep 1.4; kill $!"))
	d.Welcome.ResourceMonitor = &workflow.ResourceMonitorConfig{Enabled: true, SampleIntervalSeconds: 1}
	run(t, testOptions(t, d))
	e := d.Job(1).Attempts[0].Evidence
	if e.PeakMemoryBytes < 150<<20 || e.AvgMemoryBytes == 0 {
		t.Errorf("memory: %+v", e)
	}
	if e.CPUSeconds <= 0 || e.AvgCPUPercent <= 0 || e.PeakCPUPercent < e.AvgCPUPercent {
		t.Errorf("CPU: %+v", e)
	}
}

func TestOOMEvidence(t *testing.T) {
	dir := t.TempDir()
	counted := func(kills int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "memory.events"), fmt.Appendf(nil, "oom_kill %d\n", kills), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	counted(4)
	tracker := oom.New([]string{dir}, true, testLog())
	defer tracker.Close()
	for i, c := range []struct {
		name    string
		f       findings
		kills   int64
		victims int
	}{
		{"killed", findings{exit: &process.Exit{Signal: 9}}, 1, 1},
		{"child killed", findings{exit: &process.Exit{Code: 137}}, 1, 1},
		{"of another job", findings{exit: &process.Exit{Code: 1}}, 2, 0},
		{"by us", findings{exit: &process.Exit{Signal: 9}, killed: workflow.KilledByTimeout}, 1, 0},
		{"none", findings{exit: &process.Exit{Signal: 9}}, 0, 0},
	} {
		var e workflow.Evidence
		counted(10 * i)
		c.f.key = c.name
		tracker.Start(c.name, c.name)
		counted(10*i + int(c.kills))
		c.f.exit.At = time.Now()
		c.f.addOOM(&e, tracker)
		tracker.Remove(c.name)
		if e.OOMKills != c.kills || e.OOMVictims != c.victims || e.OOMExclusive {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

// TestPatternInFrontOfMuchText: a line 60 KiB before the end of stderr gives a failure
// its category and matches the pattern of a rule, although the report contains less.
func TestPatternInFrontOfMuchText(t *testing.T) {
	d := runnertest.New(job(`echo "NVRM: Xid 79, off the bus" >&2; head -c 60000 /dev/zero | tr '\0' x >&2; exit 7`))
	patterns := failure.NewPatterns([]workflow.FailureCategory{{Category: "gpu", When: workflow.CategoryMatch{Stderr: "NVRM: Xid"}, Hint: "drain it"}},
		[]workflow.RetryPolicy{{Rules: []workflow.RetryRule{{When: workflow.RuleMatch{Stderr: "off the bus"}}}}})
	d.Patterns = &patterns
	run(t, testOptions(t, d))
	e := d.Job(1).Attempts[0].Evidence
	if e.Category != "gpu" || e.CategoryLine != "NVRM: Xid 79, off the bus" || e.CategoryHint != "drain it" || e.PatternsHash != patterns.Hash ||
		!slices.Equal(e.StderrMatches, []string{"off the bus"}) || len(e.StderrTail) > output.TailSize || strings.Contains(e.StderrTail, "Xid") {
		e.StderrTail = ""
		t.Errorf("evidence: %+v", e)
	}
}
