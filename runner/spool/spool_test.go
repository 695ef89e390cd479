package spool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/internal/tinydisk"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

var header = Header{WorkflowID: 7, RunID: 2, RunnerID: 3, Key: "key", Hostname: "host", PID: 1, BootID: "boot"}

func report(id int64) lease.Report {
	return lease.Report{LeaseRef: lease.LeaseRef{JobID: id, Attempt: 1, Fence: id + 100}, StartedMS: 5, EndedMS: 6}
}

func reports(from, to int64) []lease.Report {
	var list []lease.Report
	for id := from; id < to; id++ {
		list = append(list, report(id))
	}
	return list
}

func create(t testing.TB, dir string) *Writer {
	t.Helper()
	w, err := Create(dir, header)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func onlyFile(t testing.TB, dir string) string {
	t.Helper()
	files, err := Files(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	return files[0]
}

func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	must(t, w.Append(reports(1, 4), false))
	must(t, w.Done(2))
	must(t, w.Append(reports(4, 5), true))
	c, err := Read(onlyFile(t, dir))
	must(t, err)
	if diff := cmp.Diff(header, c.Header); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(reports(3, 5), c.Pending()); diff != "" {
		t.Error(diff)
	}
	if len(c.Reports) != 4 || c.Cut || w.pending != 2 {
		t.Errorf("%+v", c)
	}
	must(t, w.Close())
	onlyFile(t, dir) // undelivered reports stay
}

func TestCloseRemovesDeliveredFile(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	must(t, w.Append(reports(1, 4), false))
	must(t, w.Done(3))
	must(t, w.Close())
	if files, err := Files(dir); len(files) != 0 || err != nil {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestDeliveredFileIsCut(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	big := report(1)
	big.Evidence.StderrTail = string(make([]byte, compactSize))
	must(t, w.Append([]lease.Report{big}, false))
	must(t, w.Done(1))
	must(t, w.Append(reports(2, 3), false))
	path := onlyFile(t, dir)
	info, err := os.Stat(path)
	must(t, err)
	if info.Size() > 1000 {
		t.Errorf("size %d", info.Size())
	}
	c, err := Read(path)
	must(t, err)
	if diff := cmp.Diff(reports(2, 3), c.Pending()); diff != "" {
		t.Error(diff)
	}
	must(t, w.Close())
}

// TestDamage truncates a file anywhere, or flips a bit of it: what is read is always a
// prefix of what was written.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	must(t, w.Append(reports(1, 6), false))
	whole, err := os.ReadFile(onlyFile(t, dir))
	must(t, err)
	must(t, w.Close())
	c, err := Read(onlyFile(t, dir))
	must(t, err)
	want := c.Reports
	path := filepath.Join(dir, "damaged")
	rapid.Check(t, func(t *rapid.T) {
		data := append([]byte(nil), whole...)
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "cut") {
			data = data[:at]
		} else {
			data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Read(path)
		if err != nil {
			return // the header was hit
		}
		if len(c.Reports) > len(want) {
			t.Fatalf("%d reports", len(c.Reports))
		}
		if diff := cmp.Diff(want[:len(c.Reports)], append([]lease.Report{}, c.Reports...)); diff != "" {
			t.Fatal(diff)
		}
		if len(c.Reports) < len(want) && !c.Cut {
			// A truncation between two frames looks like the end of the file.
			if len(data) == len(whole) {
				t.Fatal("damage not detected")
			}
		}
	})
}

func TestTakeOver(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	must(t, w.Append(reports(1, 3), false))
	warn := func(path string, err error) { t.Errorf("%s: %v", path, err) }
	take := func(workflow int64, host string, want int) []*Abandoned {
		t.Helper()
		taken, err := TakeOver(dir, Header{WorkflowID: workflow, Hostname: host}, warn)
		must(t, err)
		if len(taken) != want {
			t.Fatalf("took %d files, want %d", len(taken), want)
		}
		return taken
	}
	take(7, "host", 0) // its writer lives
	must(t, w.Close())
	take(8, "host", 0)
	take(7, "other", 0)
	if taken, err := TakeOver(dir, Header{Database: "other", WorkflowID: 7, Hostname: "host"}, warn); len(taken) > 0 || err != nil {
		t.Errorf("took %v of another database, %v", taken, err)
	}
	first := take(7, "host", 1)
	take(7, "host", 0) // another process delivers it
	must(t, first[0].Release())
	second := take(7, "host", 1)
	if diff := cmp.Diff(reports(1, 3), second[0].Pending()); diff != "" {
		t.Error(diff)
	}
	must(t, second[0].Delivered())
	take(7, "host", 0)
}

func TestTakeOverLeavesDamagedFilesAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x"+Ending)
	must(t, os.WriteFile(path, []byte("not a spool file at all"), 0o600))
	var warned error
	taken, err := TakeOver(dir, Header{WorkflowID: 7, Hostname: "host"}, func(_ string, err error) { warned = err })
	if err != nil || len(taken) != 0 || warned == nil {
		t.Errorf("taken %v, error %v, warning %v", taken, err, warned)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestNoDirectory(t *testing.T) {
	if files, err := Files(filepath.Join(t.TempDir(), "no")); files != nil || err != nil {
		t.Errorf("%v, %v", files, err)
	}
	if _, err := Read("/no/such/file"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestFullDisk: a report for which there was no space is not counted, and is written when
// there is space again.
func TestFullDisk(t *testing.T) {
	disk := tinydisk.New(t, 1<<20)
	w := create(t, disk.Dir)
	must(t, w.Append(reports(0, 2), true))
	disk.Fill()
	many := reports(2, 202)
	if err := w.Append(many, true); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if w.pending != 2 {
		t.Errorf("%d pending", w.pending)
	}
	disk.Free()
	must(t, w.Append(many, true))
	files, err := Files(disk.Dir)
	must(t, err)
	c, err := Read(files[0])
	must(t, err)
	if diff := cmp.Diff(append(reports(0, 2), many...), c.Pending()); diff != "" || c.Cut {
		t.Errorf("cut %v, %s", c.Cut, diff)
	}
	must(t, w.Done(202))
	must(t, w.Close())
	if files, err = Files(disk.Dir); len(files) != 0 || err != nil {
		t.Errorf("files left: %v, %v", files, err)
	}
}

// TestFileSystemWithoutLocks: the process id shows that a writer is dead.
func TestFileSystemWithoutLocks(t *testing.T) {
	flock = func(int, int) error { return unix.ENOSYS }
	defer func() { flock = unix.Flock }()
	for _, c := range []struct {
		pid  int
		boot string
		want int
	}{{os.Getpid(), "boot", 0}, {os.Getpid(), "earlier", 1}, {1 << 30, "boot", 1}} {
		dir, h := t.TempDir(), header
		h.PID, h.BootID = c.pid, c.boot
		w, err := Create(dir, h)
		must(t, err)
		must(t, w.Append(reports(0, 2), true))
		must(t, w.Close())
		taken, err := TakeOver(dir, header, func(path string, err error) { t.Errorf("%s: %v", path, err) })
		must(t, err)
		if len(taken) != c.want {
			t.Errorf("pid %d of boot %q: took %d files, want %d", c.pid, c.boot, len(taken), c.want)
		}
		for _, a := range taken {
			must(t, a.Release())
		}
	}
}

// TestStartsAreKept: started attempts without a report are returned, even after the file
// was truncated, and to the runner that takes the file over.
func TestStartsAreKept(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	unreported := func() (jobs []int64) {
		t.Helper()
		c, err := Read(onlyFile(t, dir))
		must(t, err)
		for _, s := range c.Unreported() {
			jobs = append(jobs, s.JobID)
		}
		return jobs
	}
	for id := range int64(3) {
		must(t, w.Start(lease.Held{LeaseRef: report(id).LeaseRef, StartedMS: 1000}))
	}
	must(t, w.Append(reports(1, 2), false))
	if got := unreported(); !slices.Equal(got, []int64{0, 2}) {
		t.Errorf("jobs %v are unreported, want 0 and 2", got)
	}
	big := report(2)
	big.Evidence.StderrTail = strings.Repeat("x", compactSize)
	must(t, w.Append([]lease.Report{big}, false))
	must(t, w.Done(2))
	if got := unreported(); w.size >= compactSize || !slices.Equal(got, []int64{0}) {
		t.Errorf("after the cut, at %d bytes, jobs %v are unreported, want 0", w.size, got)
	}
	must(t, w.file.Close()) // as if its writer were killed
	taken, err := TakeOver(dir, header, func(path string, err error) { t.Errorf("%s: %v", path, err) })
	if err != nil || len(taken) != 1 || len(taken[0].Unreported()) != 1 || taken[0].Unreported()[0].JobID != 0 {
		t.Fatalf("another runner took over %+v: %v", taken, err)
	}
	must(t, taken[0].Release())
}
