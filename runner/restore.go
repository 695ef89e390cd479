package runner

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// restorer makes the output directory again when a job, a script or a person has
// removed it while we work in it.
type restorer struct {
	mu     sync.Mutex
	failed string // what was said of the last try; empty after one that succeeded
}

// outputLostMsg says that the output directory was removed.
type outputLostMsg struct{ text string }

// keepOutput makes the output directory again if it is gone. What is gone is known by
// the journal, which is always open: a removed file has no link. It runs on the pool,
// before a process is started, since what is started needs the directory.
func (r *Runner) keepOutput() {
	if !unlinked(r.leftover.opened()) {
		return
	}
	r.restore.mu.Lock()
	defer r.restore.mu.Unlock()
	if !unlinked(r.leftover.opened()) {
		return // another attempt was faster
	}
	err := r.restoreOutput()
	text := fmt.Sprintf("the output directory %s was removed, and is made again: what was written to it before %s is lost, also what running jobs write",
		r.opts.OutputDir, time.Now().Format(time.TimeOnly))
	if err != nil {
		text = fmt.Sprintf("the output directory %s was removed, and cannot be made again: %v", r.opts.OutputDir, err)
	}
	if err == nil || text != r.restore.failed {
		r.box.put(outputLostMsg{text})
	}
	if r.restore.failed = ""; err != nil {
		r.restore.failed = text
	}
}

// restoreOutput makes the directory with what others need to find of us in it: its
// lock first, so that it is nobody else's, then the spool, and the journal last, by which we
// know that it is there.
func (r *Runner) restoreOutput() error {
	if err := r.prepare(); err != nil {
		return err
	}
	if r.opts.RestoreOutput != nil {
		if err := r.opts.RestoreOutput(); err != nil {
			return err
		}
	}
	if err := r.spool.restore(); err != nil {
		return err
	}
	return r.leftover.restore()
}

// onOutputLost tells that the output directory was removed.
func (r *Runner) onOutputLost(m outputLostMsg) {
	r.log.Error(m.text)
	r.summary.OutputLost = append(r.summary.OutputLost, m.text)
	r.emit(Event{Kind: EventOutputLost, Message: m.text})
}

// lastLook tells of an output directory that the last of the jobs removed. The loop
// has ended, and nothing is on the pool.
func (r *Runner) lastLook() {
	if unlinked(r.leftover.opened()) && r.restore.failed == "" {
		r.onOutputLost(outputLostMsg{fmt.Sprintf("the output directory %s was removed: what was written to it is lost", r.opts.OutputDir)})
	}
}

// unlinked reports whether an open file was removed.
func unlinked(file *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(file.Fd()), &st) == nil && st.Nlink == 0
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

// opened is the file of the journal.
func (j *journal) opened() *os.File {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file
}

// restore writes the journal again.
func (j *journal) restore() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	again, err := createJournal(j.path, j.head)
	if err != nil {
		return err
	}
	old := j.file
	j.file, j.size = again, int64(len(j.head))
	for _, line := range j.lines {
		err = errors.Join(err, j.write(line))
	}
	return errors.Join(err, old.Close())
}

// Restore makes a directory again that was removed while it was in use: its name and
// its lock. One in which nothing is locked needs neither.
func (d *OutputDir) Restore(database string) error {
	if d.marker == nil {
		return nil
	}
	file, err := openMarker(d.Path)
	if err != nil {
		return err
	}
	owner := ""
	if err = flock(file, unix.LOCK_SH); err == nil {
		owner, err = readMarker(file)
	}
	switch {
	case err != nil:
	case owner == "":
		err = writeMarker(file, database)
	case owner != database:
		err = fmt.Errorf("%s is another database's now", d.Path)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	old := d.marker
	d.marker = file
	return old.Close()
}
