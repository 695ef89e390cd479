package slurm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program returns an executor with a shell script in place of squeue.
func program(t *testing.T, lines string) *OS {
	t.Helper()
	path := filepath.Join(t.TempDir(), "squeue")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &OS{Paths: map[string]string{Squeue: path}}
}

func TestOSRuns(t *testing.T) {
	t.Setenv("SQUEUE_FORMAT", "%i")
	dir := t.TempDir()
	out, err := program(t, "cat; pwd; echo \"$A-$SQUEUE_FORMAT-$1\"; echo oops >&2; exit 3").Run(t.Context(), Command{
		Program: Squeue, Args: []string{"a b"}, Stdin: []byte("in\n"), Dir: dir, Env: []string{"A=x"},
	})
	if err != nil || string(out.Stdout) != "in\n"+dir+"\nx--a b\n" || string(out.Stderr) != "oops\n" || out.ExitCode != 3 {
		t.Errorf("%q, %q, %d, %v", out.Stdout, out.Stderr, out.ExitCode, err)
	}
}

func TestOSFails(t *testing.T) {
	if _, err := (&OS{Paths: map[string]string{Squeue: "/nowhere/squeue"}}).Run(t.Context(), Command{Program: Squeue}); !errors.Is(err, ErrNotStarted) {
		t.Errorf("a program that does not exist: %v", err)
	}
	if out, err := program(t, "kill -9 $$").Run(t.Context(), Command{Program: Squeue}); err == nil || errors.Is(err, ErrNotStarted) {
		t.Errorf("a program that was killed: %+v, %v", out, err)
	}
	out, err := program(t, "head -c 70000000 /dev/zero").Run(t.Context(), Command{Program: Squeue})
	if err == nil || errors.Is(err, ErrNotStarted) || len(out.Stdout) > maxOutput {
		t.Errorf("%d bytes of output, %v", len(out.Stdout), err)
	}
}

// A site's wrapper of sbatch may leave a child that keeps its output open. What it
// printed before counts: the job exists.
func TestOSLeavesAChild(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	x := program(t, "echo 4711; sleep 1000 & echo $! >"+pid)
	t.Cleanup(func() {
		text, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || syscall.Kill(child, syscall.SIGKILL) != nil {
			t.Errorf("the child %q stays: %v", text, err)
		}
	})
	job, err := New(Options{Executor: &OS{Paths: map[string]string{Sbatch: x.Path(Squeue)}}}).Submit(t.Context(), Submission{})
	if err != nil || job.ID.Number != 4711 {
		t.Errorf("%+v, %v", job, err)
	}
}

// A program that hangs is killed with everything that it has started, even if a child
// keeps its output open.
func TestOSHangs(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	x := program(t, "sleep 1000 & echo $! >"+pid+".new; mv "+pid+".new "+pid+"; wait")
	failed := make(chan error, 1)
	go func() {
		_, err := x.Run(ctx, Command{Program: Squeue})
		failed <- err
	}()
	waitFor(t, "the child", func() bool { _, err := os.Stat(pid); return err == nil })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of the child", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for tick := time.NewTicker(10 * time.Millisecond); !condition(); {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
