package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/spool"
)

// spoolDir is where reports wait for the daemon, under the output directory.
const spoolDir = "spool"

// delivery writes reports to the spool before they are sent. Runs of runners
// that died are delivered along with our own reports: they stand first in the
// outbox.
//
// The goroutines of turns use it; one turn with reports is under way at a time.
type delivery struct {
	dir string
	log *slog.Logger

	mu     sync.Mutex
	writer *spool.Writer
	old    []*spool.Abandoned
	oldest int // how many reports of old files the daemon has not answered
	ahead  int // reports in the writer that the daemon has not answered
	broken bool
}

// openSpool makes this life's spool file and takes over those of dead runners.
func (r *Runner) openSpool(closers *[]func() error) error {
	dir := filepath.Join(r.opts.OutputDir, spoolDir)
	ended, err := EndLeftovers(r.opts.OutputDir, r.log)
	if err != nil {
		return err
	}
	if ended > 0 {
		r.log.Warn("ended processes that a dead runner left behind", "processes", ended)
	}
	d := &delivery{dir: dir, log: r.log}
	d.writer, err = spool.Create(dir, spool.Header{
		WorkflowID: r.opts.WorkflowID, RunID: r.about.RunID, RunnerID: r.id, Key: r.key,
		Hostname: r.opts.Hostname, PID: os.Getpid(), BootID: bootID(),
	})
	if err != nil {
		return err
	}
	*closers = append(*closers, d.close)
	d.old, err = spool.TakeOver(dir, r.opts.WorkflowID, r.opts.Hostname, func(path string, err error) {
		r.log.Error("spool file cannot be read and is left alone", "path", path, "error", err)
	})
	if err != nil {
		return err
	}
	for _, old := range d.old {
		pending := old.Pending()
		d.oldest += len(pending)
		r.turns.outbox = append(r.turns.outbox, pending...)
		r.log.Info("delivering the reports of an earlier runner", "path", old.Path, "reports", len(pending))
	}
	d.dropOld(0)
	r.spool = d
	r.leftover, err = openJournal(r.opts.OutputDir, r.opts.WorkflowID, r.opts.Hostname, r.key, r.log)
	if err != nil {
		return err
	}
	*closers = append(*closers, r.leftover.close)
	return nil
}

// before makes reports survive this process, and, while the daemon is absent,
// the node. Reports that are on file already are passed over.
func (d *delivery) before(reports []api.Report, sync bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	onFile := d.oldest + d.ahead
	if len(reports) <= onFile || d.broken {
		return
	}
	fresh := reports[onFile:]
	if err := d.writer.Append(fresh, sync); err != nil {
		// The reports still go to the daemon; what is lost is their safety.
		d.broken = true
		d.log.Error("cannot write the spool; reports are only in memory", "error", err)
		return
	}
	d.ahead += len(fresh)
}

// after takes in that the daemon has answered the oldest n reports.
func (d *delivery) after(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := min(n, d.oldest)
	d.dropOld(old)
	own := min(n-old, d.ahead)
	if own == 0 {
		return
	}
	d.ahead -= own
	if err := d.writer.Done(own); err != nil {
		d.log.Error("cannot write the spool", "error", err)
	}
	if d.ahead == 0 {
		d.broken = false
	}
}

// dropOld removes the files of dead runners when the last report of all of
// them was answered; n more have been.
func (d *delivery) dropOld(n int) {
	if d.oldest -= n; d.oldest > 0 {
		return
	}
	for _, old := range d.old {
		if err := old.Delivered(); err != nil {
			d.log.Warn("cannot remove a delivered spool file", "path", old.Path, "error", err)
		}
	}
	d.old = nil
}

// undelivered returns how many reports the daemon has not answered.
func (d *delivery) undelivered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.oldest + d.ahead
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
