package runner

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/failpoint"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestMain(m *testing.M) {
	if helper := os.Getenv("RUNNER_TEST_HELPER"); helper != "" {
		runHelper(helper)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience limits the wait for things that normally take milliseconds.
const patience = runnertest.Patience

// job returns a job with a command.
func job(command string) runnertest.Job {
	return runnertest.Job{Grant: lease.Grant{Command: command}}
}

// testOptions returns options for a runner with two slots.
func testOptions(t testing.TB, d *runnertest.Daemon) Options {
	t.Helper()
	return Options{
		Client: d, WorkflowID: 1, OutputDir: t.TempDir(),
		Resources: Resources{CPUs: 2, MemoryBytes: 4 << 30},
	}
}

// run runs a runner to its end.
func run(t testing.TB, o Options) Summary {
	t.Helper()
	s, err := tryRun(t, o)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return s
}

func tryRun(t testing.TB, o Options) (Summary, error) {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	return r.Run(ctx)
}

// background is a runner in the background.
type background struct {
	*Runner
	summary Summary
	err     error
	done    chan struct{}
}

func start(t testing.TB, o Options) *background {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	b := &background{Runner: r, done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.summary, b.err = r.Run(context.Background())
	}()
	t.Cleanup(func() {
		r.Stop(StopKill)
		<-b.done
	})
	return b
}

// wait waits until the runner has ended.
func (b *background) wait(t testing.TB) Summary {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(patience):
		t.Fatal("runner does not end")
	}
	if b.err != nil {
		t.Fatalf("Run: %v", b.err)
	}
	return b.summary
}

func noViolations(t testing.TB, d *runnertest.Daemon) {
	t.Helper()
	for _, v := range d.Violations() {
		t.Error("violation:", v)
	}
}

// logText returns the contents of an attempt's file.
func logText(t testing.TB, dir string, jobID, attempt int64, ending string) string {
	t.Helper()
	data, err := os.ReadFile(output.LogPath(dir, 1, jobID, 1, attempt, ending))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// logNames returns the names of the attempts' files.
func logNames(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, output.StdioDir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func contains(t testing.TB, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s is %q, want it to contain %q", what, text, part)
	}
}

// runHelper is the runner in a process of its own; the test passes the daemon's URL and
// the output directory.
func runHelper(arguments string) {
	url, dir, _ := strings.Cut(arguments, " ")
	c, err := client.New(client.Options{URL: url})
	if err == nil {
		var r *Runner
		o := Options{
			Client: c.Runners, WorkflowID: 1, OutputDir: dir, Resources: Resources{CPUs: 2, MemoryBytes: 4 << 30},
			Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		}
		if points, err := failpoint.Parse(os.Getenv("RUNNER_TEST_FAILPOINTS")); err == nil && points != nil {
			o.Failpoint = points.Hit
		}
		r, err = New(o)
		if err == nil {
			_, err = r.Run(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func testLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
