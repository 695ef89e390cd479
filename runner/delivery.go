package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// delivery writes reports to the spool before they are sent. It also delivers the
// reports that dead runners have left in their spools: they are first in the outbox.
// Reports are numbered from 0 in the order of the outbox. They are answered in that
// order.
//
// The goroutines of turns and of the pool use it.
type delivery struct {
	dir string
	log *slog.Logger

	mu            sync.Mutex
	writer        *spool.Writer
	old           []*spool.Abandoned
	inherited     int64 // number of leading reports that are in old
	unknownStarts int   // attempts in old that were started and not reported, unknown to the daemon
	written       int64 // number of leading reports that are on disk
	answered      int64 // number of reports that the daemon has answered
	failing       bool
}

// openSpool creates this runner's spool file and takes over those of dead runners. Its
// errors say what cannot be written or read.
func (r *Runner) openSpool(closers *[]func() error) error {
	dir := filepath.Join(r.opts.OutputDir, output.SpoolDir)
	ended, err := process.EndLeftovers(r.opts.OutputDir, r.log)
	if err != nil {
		return err
	}
	if ended > 0 {
		r.log.Warn("ended leftover processes of a dead runner", "processes", ended)
	}
	d := &delivery{dir: dir, log: r.log}
	header := spool.Header{
		Database: r.opts.Database, WorkflowID: r.opts.WorkflowID, RunID: r.about.RunID, RunnerID: r.id, Key: r.key,
		Hostname: r.opts.Hostname, PID: os.Getpid(), BootID: process.BootID(),
	}
	if d.writer, err = spool.Create(dir, header); err != nil {
		return output.Unwritable(err)
	}
	*closers = append(*closers, d.close)
	for _, place := range append([]string{r.opts.OutputDir}, r.opts.OtherDirs...) {
		old, err := spool.TakeOver(filepath.Join(place, output.SpoolDir), header, func(path string, err error) {
			r.log.Error("cannot read a spool file; it is kept", "path", path, "error", err)
		})
		d.old = append(d.old, old...)
		if err != nil {
			return err
		}
	}
	for _, old := range d.old {
		pending := old.Pending()
		d.inherited += int64(len(pending))
		r.turns.outbox = append(r.turns.outbox, pending...)
		started := old.Unreported()
		d.unknownStarts += len(started)
		r.turns.started = append(r.turns.started, started...)
		r.log.Info("delivering the reports of an earlier runner", "path", old.Path, "reports", len(pending), "started", len(started))
	}
	d.written = d.inherited
	d.removeDelivered()
	r.spool = d
	r.leftover, err = process.OpenJournal(r.opts.OutputDir, r.opts.WorkflowID, r.opts.Hostname, r.key, r.log)
	if err != nil {
		return output.Unwritable(err)
	}
	*closers = append(*closers, r.leftover.Close)
	return nil
}

// recordStart writes to the spool that an attempt is being started, so that this is
// known if the runner dies.
func (d *delivery) recordStart(attempt lease.Held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writer.Start(attempt); err != nil {
		d.log.Warn("cannot record that a job is started", "job_id", attempt.JobID, "error", err)
	}
}

// recordNotStarted revokes recordStart for an attempt that Slurm did not start.
func (d *delivery) recordNotStarted(ref lease.LeaseRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writer.NotStarted(ref); err != nil {
		d.log.Warn("cannot record that a job is not started", "job_id", ref.JobID, "error", err)
	}
}

// persist writes reports to the spool, from where they survive a crash of the
// runner, and with sync also of the node. first is the number of the first of them.
// Reports that are already on disk are skipped.
func (d *delivery) persist(first int64, reports []lease.Report, sync bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := first + int64(len(reports))
	if end <= d.written {
		return
	}
	fresh := reports[max(0, d.written-first):]
	if err := d.writer.Append(fresh, sync); err != nil {
		// The reports are still sent to the daemon.
		if !d.failing {
			d.log.Error("cannot write the spool; reports are only in memory", "error", err)
		}
		d.failing = true
		return
	}
	d.failing = false
	d.written = end
}

// markAnswered records that the daemon has answered n more reports, and has learned of
// so many attempts that earlier runners had started.
func (d *delivery) markAnswered(n, started int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := max(d.answered, d.inherited)
	d.unknownStarts -= started
	d.answered += int64(n)
	d.removeDelivered()
	if own := min(d.answered, d.written) - before; own > 0 {
		if err := d.writer.Done(int(own)); err != nil {
			d.log.Error("cannot write the spool", "error", err)
		}
	}
	d.written = max(d.written, d.answered)
}

// removeDelivered removes the files of dead runners once everything in them is answered.
func (d *delivery) removeDelivered() {
	if d.answered < d.inherited || d.unknownStarts > 0 {
		return
	}
	for _, old := range d.old {
		if err := old.Delivered(); err != nil {
			d.log.Warn("cannot remove a delivered spool file", "path", old.Path, "error", err)
		}
	}
	d.old = nil
}

// undelivered returns how many reports on disk the daemon has not answered.
func (d *delivery) undelivered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int(d.written - d.answered)
}

func (d *delivery) close() error {
	var errs []error
	for _, old := range d.old {
		errs = append(errs, old.Release())
	}
	if err := d.writer.Close(); err != nil {
		errs = append(errs, fmt.Errorf("close spool: %w", err))
	}
	return errors.Join(errs...)
}
