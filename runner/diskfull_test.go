package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/internal/tinydisk"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// TestJobFillsTheDiskOfItsOutput: there is no space even for its error message, and yet
// the cause is known; the runner continues.
func TestJobFillsTheDiskOfItsOutput(t *testing.T) {
	disk := tinydisk.New(t, 1<<20)
	d := runnertest.New(job("head -c 4000000 /dev/zero"), job("exit 3"))
	d.Welcome.ResourceMonitor = &workflow.ResourceMonitorConfig{Enabled: true, Granularity: "time_series", SampleIntervalSeconds: 1}
	o := testOptions(t, d)
	o.OutputDir = filepath.Join(disk.Dir, "output")
	o.Resources.CPUs = 1
	if s := run(t, o); !s.Complete || s.Undelivered != 0 {
		t.Errorf("summary %+v", s)
	}
	e := d.Job(1).Attempts[0].Evidence
	if e.ExitCode == nil || *e.ExitCode == 0 || !e.DiskFull {
		t.Errorf("evidence %+v", e)
	}
	if cause := failure.Classify(e, workflow.ReturnCodes{}, nil); cause.Kind != workflow.CauseDiskFull {
		t.Errorf("cause %+v", cause)
	}
	if e := d.Job(2).Attempts[0].Evidence; e.ExitCode == nil || *e.ExitCode != 3 {
		t.Errorf("evidence of the next %+v", e)
	}
	noViolations(t, d)
}

// TestFullDiskOfTheSpool: reports that cannot be spooled are delivered nevertheless when
// the daemon is back, and leave nothing behind.
func TestFullDiskOfTheSpool(t *testing.T) {
	t.Parallel()
	disk := tinydisk.New(t, 1<<20)
	scratch := t.TempDir()
	// The reports are larger than what is left of the file's last page.
	const n, words = 5, 2000
	d := runnertest.New()
	for range n {
		d.Add(job(fmt.Sprintf("printf x%%.0s {1..%d} >&2; until [ -e %s/go ]; do sleep 0.02; done; exit 6", words, scratch)))
	}
	o := testOptions(t, d)
	o.MaxParallelJobs = n
	o.OutputDir = filepath.Join(disk.Dir, "output")
	log := &countingHandler{}
	o.Log = slog.New(log)
	r := start(t, o)
	for id := range int64(n) {
		runnertest.Eventually(t, "the job waits", func() bool {
			info, err := os.Stat(output.LogPath(o.OutputDir, 1, id+1, 1, 1, ".e"))
			return err == nil && info.Size() == words && d.Held(id+1).StartedMS > 0
		})
	}
	d.SetDown(true)
	disk.Fill()
	touch(t, scratch+"/go")
	runnertest.Eventually(t, "the spool fails", func() bool { return log.count("cannot write the spool; reports are only in memory") > 0 })
	disk.Free()
	d.SetDown(false)
	if s := r.wait(t); !s.Complete || s.Undelivered != 0 {
		t.Errorf("summary %+v", s)
	}
	for id := range int64(n) {
		if e := d.Job(id + 1).Attempts[0].Evidence; e.ExitCode == nil || *e.ExitCode != 6 {
			t.Errorf("evidence of job %d: %+v", id+1, e)
		}
	}
	if n := log.count("cannot write the spool; reports are only in memory"); n != 1 {
		t.Errorf("logged %d times that the spool cannot be written", n)
	}
	if left, _ := filepath.Glob(filepath.Join(o.OutputDir, output.SpoolDir, "*")); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
	noViolations(t, d)
}

// TestNoRoomForARunner: a runner that cannot spool does not start.
func TestNoRoomForARunner(t *testing.T) {
	disk := tinydisk.New(t, 1<<20)
	d := runnertest.New(job("true"))
	o := testOptions(t, d)
	o.OutputDir = filepath.Join(disk.Dir, "output")
	if err := os.MkdirAll(filepath.Join(o.OutputDir, output.SpoolDir), 0o777); err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	_, err := tryRun(t, o)
	var known *workflow.Error
	if !errors.As(err, &known) || known.Hint == "" || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(o.OutputDir, output.SpoolDir, "*")); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
	disk.Free()
	if s := run(t, o); !s.Complete {
		t.Errorf("summary %+v", s)
	}
}

func touch(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// countingHandler counts log records by message.
type countingHandler struct {
	mu   sync.Mutex
	said map[string]int
}

func (h *countingHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *countingHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *countingHandler) WithGroup(string) slog.Handler            { return h }

func (h *countingHandler) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said == nil {
		h.said = make(map[string]int)
	}
	h.said[r.Message]++
	return nil
}

func (h *countingHandler) count(message string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.said[message]
}
