package runner

import (
	"fmt"
	"sync"
	"time"
)

// restorer makes the output directory again when a job, a script or a person has
// removed it while we work in it.
type restorer struct {
	runner *Runner
	mu     sync.Mutex
	failed string // what was said of the last try; empty after one that succeeded
}

// outputLostMsg says that the output directory was removed.
type outputLostMsg struct{ text string }

// ensureOutputDir makes the output directory again if it is gone. What is gone is known by
// the journal, which is always open: a removed file has no link. It runs on the pool,
// before a process is started, since what is started needs the directory.
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
	text := fmt.Sprintf("the output directory %s was removed, and is made again: what was written to it before %s is lost, also what running jobs write",
		o.runner.opts.OutputDir, time.Now().Format(time.TimeOnly))
	if err != nil {
		text = fmt.Sprintf("the output directory %s was removed, and cannot be made again: %v", o.runner.opts.OutputDir, err)
	}
	if err == nil || text != o.failed {
		o.runner.box.put(outputLostMsg{text})
	}
	if o.failed = ""; err != nil {
		o.failed = text
	}
}

// recreate makes the directory with what others need to find of us in it: its
// lock first, so that it is nobody else's, then the spool, and the journal last, by which we
// know that it is there.
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

// onOutputLost tells that the output directory was removed.
func (o *restorer) onOutputLost(m outputLostMsg) {
	o.runner.log.Error(m.text)
	o.runner.summary.OutputLost = append(o.runner.summary.OutputLost, m.text)
	o.runner.emit(Event{Kind: EventOutputLost, Message: m.text})
}

// checkAtEnd tells of an output directory that the last of the jobs removed. The loop
// has ended, and nothing is on the pool.
func (o *restorer) checkAtEnd() {
	if o.runner.leftover.Removed() && o.failed == "" {
		o.onOutputLost(outputLostMsg{fmt.Sprintf("the output directory %s was removed: what was written to it is lost", o.runner.opts.OutputDir)})
	}
}

// restore writes the spool again.
func (d *delivery) restore() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writer.Restore(); err != nil {
		return fmt.Errorf("make the spool again: %w", err)
	}
	d.failing = false
	return nil
}
