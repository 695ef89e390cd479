package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestReadSpooled(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, output.SpoolDir)
	if err := os.MkdirAll(place, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, h := range []spool.Header{
		{Database: "ours", WorkflowID: 1, RunID: 2, RunnerID: 7, Key: "a", Hostname: "far away"},
		{Database: "ours", WorkflowID: 1, RunID: 2, RunnerID: 8, Key: "b"},
		{Database: "another", WorkflowID: 1, RunID: 2, RunnerID: 7, Key: "c"},
	} {
		w, err := spool.Create(place, h)
		if err != nil {
			t.Fatal(err)
		}
		ref := lease.LeaseRef{JobID: h.RunnerID, Attempt: 1, Fence: 1}
		if err := w.Append([]lease.Report{{LeaseRef: ref}, {LeaseRef: lease.LeaseRef{JobID: 99}}}, true); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(place, "x"+spool.Ending), []byte("not a spool file"), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(runnerID int64) func(*spool.Header) bool {
		return func(h *spool.Header) bool { return h.RunnerID == runnerID }
	}
	all, err := ReadSpooled(dir, "ours", of(7))
	if err != nil || len(all) != 1 || all[0].RunID != 2 || len(all[0].Reports) != 2 || all[0].Reports[0].JobID != 7 {
		t.Fatalf("got %+v, %v", all, err)
	}
	if err := all[0].Delivered(); err != nil {
		t.Fatal(err)
	}
	if all, err = ReadSpooled(dir, "ours", of(7)); err != nil || len(all) != 0 {
		t.Errorf("after the delivery: %+v, %v", all, err)
	}
	if all, err = ReadSpooled(dir, "ours", of(8)); err != nil || len(all) != 1 {
		t.Errorf("the other runner's reports: %+v, %v", all, err)
	}
}

// TestSpooledByALiveWriter: the spool of a live runner is read, and its file stays, since
// the runner still writes to it.
func TestSpooledByALiveWriter(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, output.SpoolDir)
	if err := os.MkdirAll(place, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := spool.Create(place, spool.Header{Database: "ours", RunnerID: 7, Key: "a"})
	if err != nil {
		t.Fatal(err)
	}
	write := func(job int64) {
		if err := w.Append([]lease.Report{{LeaseRef: lease.LeaseRef{JobID: job}}}, true); err != nil {
			t.Fatal(err)
		}
	}
	read := func() []Spooled {
		all, err := ReadSpooled(dir, "ours", func(*spool.Header) bool { return true })
		if err != nil || len(all) != 1 {
			t.Fatalf("got %+v, %v", all, err)
		}
		return all
	}
	write(1)
	if err := read()[0].Delivered(); err != nil {
		t.Fatal(err)
	}
	write(2)
	if left := read()[0].Reports; len(left) != 2 {
		t.Errorf("%d reports are left of a live writer, want both", len(left))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
