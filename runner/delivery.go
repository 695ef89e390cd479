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

// delivery writes reports to the spool before they are sent. Reports that
// runners which died left in theirs are delivered along with our own: they
// stand first in the outbox. Reports are numbered from 0 in the order of the
// outbox, in which they are also answered.
//
// The goroutines of turns and of the pool use it.
type delivery struct {
	dir string
	log *slog.Logger

	mu            sync.Mutex
	writer        *spool.Writer
	old           []*spool.Abandoned
	inherited     int64 // so many of the first reports are in old
	unknownStarts int   // attempts in old that were started and not reported, which the daemon does not know
	written       int64 // so many of the first reports are on file
	answered      int64 // so many the daemon has answered
	failing       bool
}

// openSpool makes this life's spool file and takes over those of dead runners.
func (r *Runner) openSpool(closers *[]func() error) error {
	dir := filepath.Join(r.opts.OutputDir, output.SpoolDir)
	ended, err := process.EndLeftovers(r.opts.OutputDir, r.log)
	if err != nil {
		return err
	}
	if ended > 0 {
		r.log.Warn("ended processes that a dead runner left behind", "processes", ended)
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
			r.log.Error("spool file cannot be read and is left alone", "path", path, "error", err)
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

// recordStart makes it survive this process that an attempt is being started.
func (d *delivery) recordStart(attempt lease.Held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writer.Start(attempt); err != nil {
		d.log.Warn("cannot write down that a job is started", "job_id", attempt.JobID, "error", err)
	}
}

// recordNotStarted takes back that an attempt is being started: Slurm refused it.
func (d *delivery) recordNotStarted(ref lease.LeaseRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writer.NotStarted(ref); err != nil {
		d.log.Warn("cannot write down that a job is not started", "job_id", ref.JobID, "error", err)
	}
}

// persist makes reports survive this process, and, with sync, the node; first
// is the number of the first of them. Those that are on file are passed over.
func (d *delivery) persist(first int64, reports []lease.Report, sync bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := first + int64(len(reports))
	if end <= d.written {
		return
	}
	fresh := reports[max(0, d.written-first):]
	if err := d.writer.Append(fresh, sync); err != nil {
		// The reports still go to the daemon; what is lost is their safety.
		if !d.failing {
			d.log.Error("cannot write the spool; reports are only in memory", "error", err)
		}
		d.failing = true
		return
	}
	d.failing = false
	d.written = end
}

// markAnswered takes in that the daemon has answered n more reports, and knows so many
// more of the attempts that earlier runners had started.
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

// removeDelivered removes the files of dead runners when all in them is answered.
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

// undelivered returns how many reports on file the daemon has not answered.
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
