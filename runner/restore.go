package runner

import (
	"fmt"
	"sync"
	"time"
)

// restorer recreates the output directory if a job, a script or a person has removed it
// while the runner works in it.
type restorer struct {
	runner *Runner
	mu     sync.Mutex
	failed string // message of the last try; empty if it succeeded
}

// outputLostMsg says that the output directory was removed.
type outputLostMsg struct{ text string }

// ensureOutputDir recreates the output directory if it was removed. It recognizes this by
// the journal, which is always open: a removed file has no link. It runs on the pool,
// before each start of a process.
func (o *restorer) ensureOutputDir() {
	if !o.runner.leftover.Removed() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.runner.leftover.Removed() {
		return // another attempt was faster
	}
	err := o.recreate()
	text := fmt.Sprintf("the output directory %s was removed and has been recreated: what was written to it before %s is lost, and so is what running jobs write",
		o.runner.opts.OutputDir, time.Now().Format(time.TimeOnly))
	if err != nil {
		text = fmt.Sprintf("the output directory %s was removed and cannot be recreated: %v", o.runner.opts.OutputDir, err)
	}
	if err == nil || text != o.failed {
		o.runner.box.put(outputLostMsg{text})
	}
	if o.failed = ""; err != nil {
		o.failed = text
	}
}

// recreate makes the directory and its files: first the lock, so that no other runner
// takes it, then the spool, and last the journal, by which ensureOutputDir recognizes it.
func (o *restorer) recreate() error {
	if err := o.runner.prepare(); err != nil {
		return err
	}
	if o.runner.opts.RestoreOutput != nil {
		if err := o.runner.opts.RestoreOutput(); err != nil {
			return err
		}
	}
	if err := o.runner.spool.restore(); err != nil {
		return err
	}
	return o.runner.leftover.Restore()
}

// onOutputLost reports that the output directory was removed.
func (o *restorer) onOutputLost(m outputLostMsg) {
	o.runner.log.Error(m.text)
	o.runner.summary.OutputLost = append(o.runner.summary.OutputLost, m.text)
	o.runner.emit(Event{Kind: EventOutputLost, Message: m.text})
}

// checkAtEnd reports an output directory that the last job has removed. The loop has
// ended, and the pool is idle.
func (o *restorer) checkAtEnd() {
	if o.runner.leftover.Removed() && o.failed == "" {
		o.onOutputLost(outputLostMsg{fmt.Sprintf("the output directory %s was removed: what was written to it is lost", o.runner.opts.OutputDir)})
	}
}

// restore recreates the spool.
func (d *delivery) restore() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writer.Restore(); err != nil {
		return fmt.Errorf("recreate the spool: %w", err)
	}
	d.failing = false
	return nil
}
