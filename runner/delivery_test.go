package runner

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func numbered(n int) []lease.Report {
	list := make([]lease.Report, n)
	for i := range list {
		list[i].JobID = int64(i)
	}
	return list
}

func newDelivery(t *testing.T, dir string) *delivery {
	t.Helper()
	w, err := spool.Create(dir, spool.Header{WorkflowID: 1, Hostname: "h", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return &delivery{dir: dir, log: testLog(), writer: w}
}

// TestReportsAreOnFileOnce passes the same reports several times, as turns that fail do.
func TestReportsAreOnFileOnce(t *testing.T) {
	dir := t.TempDir()
	d := newDelivery(t, dir)
	all := numbered(10)
	d.persist(0, all[:3], false)
	d.persist(0, all[:3], true)
	d.persist(0, all[:5], true)
	if n := d.undelivered(); n != 5 {
		t.Errorf("%d undelivered", n)
	}
	d.markAnswered(2, 0)
	d.persist(0, all[:5], true) // a task that was queued before the answer
	d.persist(2, all[2:10], false)
	if n := d.undelivered(); n != 8 {
		t.Errorf("%d undelivered", n)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	files, err := spool.Files(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	c, err := spool.Read(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range c.Pending() {
		if r.JobID != int64(i+2) {
			t.Errorf("report %d is of job %d", i, r.JobID)
		}
	}
	if len(c.Reports) != 10 || len(c.Pending()) != 8 {
		t.Errorf("%d reports, %d pending", len(c.Reports), len(c.Pending()))
	}
}

// TestBrokenSpool: reports still go to the daemon, and what could not be written is
// written later.
func TestBrokenSpool(t *testing.T) {
	d := newDelivery(t, t.TempDir())
	if err := d.writer.Close(); err != nil {
		t.Fatal(err)
	}
	d.persist(0, numbered(3), false)
	if !d.failing || d.undelivered() != 0 {
		t.Errorf("failing %v, %d on file", d.failing, d.undelivered())
	}
	d.markAnswered(2, 0)
	d.writer = newDelivery(t, t.TempDir()).writer
	d.persist(2, numbered(1), false)
	if d.failing || d.undelivered() != 1 {
		t.Errorf("failing %v, %d on file", d.failing, d.undelivered())
	}
	d.markAnswered(1, 0)
	if err := d.close(); err != nil {
		t.Error(err)
	}
}
