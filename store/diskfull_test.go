package store

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/tinydisk"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// fullDisk is a rig whose database is on a small file system of its own.
type fullDisk struct {
	*rig
	disk *tinydisk.Disk
	open bool
	// texts are the user data that the store has acknowledged.
	texts map[int64]string
}

func newFullDisk(t *testing.T) *fullDisk {
	t.Helper()
	d := &fullDisk{
		rig:  &rig{tb: t, ctx: t.Context(), now: time.UnixMilli(1_795_255_200_000)},
		disk: tinydisk.New(t, 8<<20), texts: make(map[int64]string),
	}
	t.Cleanup(d.close)
	return d
}

func (d *fullDisk) start() error {
	s, err := Open(d.ctx, Options{
		Path: filepath.Join(d.disk.Dir, "torc.db"), Now: func() time.Time { return d.now }, AsNetwork: *asNetwork,
		Log: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		d.Store, d.open = s, true
	}
	return err
}

func (d *fullDisk) close() {
	if d.open {
		d.open = false
		if err := d.Close(); err != nil {
			d.tb.Error(err)
		}
	}
}

// write stores a text of this many bytes.
func (d *fullDisk) write(size int) error {
	name := fmt.Sprintf("text %d of %d", len(d.texts), size)
	text := fmt.Appendf(nil, `"%s"`, strings.Repeat("x", size))
	created, err := d.UserData.Create(d.ctx, []artifact.UserData{{WorkflowID: d.workflow, Name: name, Data: text}}, UserDataLinks{})
	if err == nil {
		d.texts[created[0].ID] = string(text)
	}
	return err
}

// kept checks that everything that was acknowledged is there.
func (d *fullDisk) kept() {
	d.tb.Helper()
	for id, want := range d.texts {
		got, err := d.UserData.Get(d.ctx, id)
		if err != nil || string(got.Data) != want {
			d.tb.Errorf("user data %d: %d of %d bytes, %v", id, len(got.Data), len(want), err)
		}
	}
	if n := d.number(`SELECT COUNT(*) FROM user_data`); n != int64(len(d.texts)) {
		d.tb.Errorf("%d rows, %d were acknowledged", n, len(d.texts))
	}
}

// wantFull expects an error that says what to do.
func wantFull(t *testing.T, err error) {
	t.Helper()
	var known *workflow.Error
	if !errors.As(err, &known) || known.Code != workflow.CodeUnavailable ||
		!strings.Contains(known.Message, "no space left") || !strings.Contains(known.Message, "torc.db") || !strings.Contains(known.Hint, "make room") {
		t.Fatalf("error %v", err)
	}
}

// TestDiskFull: writes without space are rejected, acknowledged ones stay, and everything
// continues when there is space again.
func TestDiskFull(t *testing.T) {
	if *inMemory {
		t.Skip("no file")
	}
	d := newFullDisk(t)
	d.must(d.start())
	d.begin(independent(40)...)
	h := d.hand("h", 20)
	grants := h.turn().Grants
	d.must(d.write(1000))
	d.disk.Fill()
	var err error
	for size := 100_000; size > 0 && err == nil; {
		if err = d.write(size); err != nil && size > 1 {
			size, err = size/2, nil // the last pages as well
		}
	}
	wantFull(t, err)
	d.kept()

	// A turn without space is repeated unchanged.
	said := lease.TurnRequest{Turn: h.number + 1, RunID: 1, Free: h.free}
	for _, g := range grants {
		said.Reports = append(said.Reports, exited(g.LeaseRef, 0))
	}
	_, err = d.Runners.Turn(d.ctx, h.id, said)
	wantFull(t, err)
	if n := d.number(`SELECT COUNT(*) FROM job WHERE status = ?`, workflow.Completed); n != 0 {
		t.Errorf("%d jobs are completed by a turn that was refused", n)
	}

	d.disk.Free()
	answer, err := d.Runners.Turn(d.ctx, h.id, said)
	d.must(err)
	if len(answer.Results) != len(grants) || len(answer.Grants) != 20 {
		t.Errorf("%d results, %d grants", len(answer.Results), len(answer.Grants))
	}
	d.must(d.write(1000))
	d.kept()
	d.check()
	d.close()
	findings, err := check.Deep(t.Context(), filepath.Join(d.disk.Dir, "torc.db"), check.Witness{})
	if err != nil || len(findings) > 0 {
		t.Errorf("findings %v, %v", findings, err)
	}
}

// TestDiskFullAtTheStart: a database on a full disk is not opened, and not damaged.
func TestDiskFullAtTheStart(t *testing.T) {
	if *inMemory {
		t.Skip("no file")
	}
	d := newFullDisk(t)
	d.disk.Fill()
	wantFull(t, d.start())
	d.disk.Free()
	d.must(d.start())
	d.begin(independent(2)...)
	d.must(d.write(1000))
	d.close()
	d.disk.Fill()
	if err := d.start(); err != nil {
		wantFull(t, err)
	}
	d.close()
	d.disk.Free()
	d.must(d.start())
	d.kept()
	d.close()
	findings, err := check.Deep(t.Context(), filepath.Join(d.disk.Dir, "torc.db"), check.Witness{})
	if err != nil || len(findings) > 0 {
		t.Errorf("findings %v, %v", findings, err)
	}
}
