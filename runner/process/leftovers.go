package process

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/runner/output"
)

// EndLeftovers ends the processes that dead runners have left on this host, by the
// journals under their output directory. It returns how many there were, after a
// limited time also if some do not end; these are logged. The error says that the
// directory cannot be read.
func EndLeftovers(outputDir string, log *slog.Logger) (int, error) {
	paths, err := output.ProcessJournals(outputDir)
	if err != nil {
		return 0, err
	}
	h := newCleanup()
	var dead []*deadJournal
	for _, path := range paths {
		d, err := takeJournal(path)
		if err != nil {
			log.Warn("cannot read the process journal of a runner", "path", path, "error", err)
		}
		if d != nil {
			defer d.file.Close()
			dead = append(dead, d)
			h.add(d)
		}
	}
	n, err := h.end()
	if err != nil {
		log.Error("cannot end leftover processes of dead runners", "output_dir", outputDir, "error", err)
		return n, nil
	}
	for _, d := range dead {
		if err := os.Remove(d.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
			log.Warn("cannot remove the process journal of a dead runner", "error", err)
		}
	}
	return n, nil
}

// deadJournal is the journal of a dead runner. It is locked, so that one process at a
// time ends what it lists. Others wait for that.
type deadJournal struct {
	file   *os.File
	runner processID
	ids    []processID
	prefix string // of the runner's attempt keys; empty if it is of an earlier boot
}

// takeJournal locks a journal. It returns nil if there is nothing to do: the runner
// lives or is on another host, or another process has done it.
func takeJournal(path string) (*deadJournal, error) {
	file, err := trustedfile.OpenOwn(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := &deadJournal{file: file}
	here, err := d.read()
	locked := false
	if err == nil && here {
		locked, err = d.lock()
	}
	if err == nil && locked {
		here, err = d.read() // it may have been written to before we had the lock
	}
	if err != nil || !here || !locked || d.gone() {
		return nil, errors.Join(err, file.Close())
	}
	return d, nil
}

// read reads the journal. here says whether it is of this host.
func (d *deadJournal) read() (here bool, err error) {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	lines := bufio.NewScanner(d.file)
	if !lines.Scan() {
		return false, lines.Err()
	}
	head := strings.Fields(lines.Text())
	if len(head) != 5 {
		return false, errors.New("not a process journal")
	}
	name, err := os.Hostname()
	if err != nil {
		return false, err
	}
	if head[0] != BootID() {
		return head[1] == name, nil // nothing survives a reboot
	}
	d.prefix = head[2] + "."
	d.runner.pid, _ = strconv.Atoi(head[3])
	d.runner.start, _ = strconv.ParseUint(head[4], 10, 64)
	d.ids = nil
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // cut off when the runner was killed
		}
		pid, err1 := strconv.Atoi(fields[0])
		start, err2 := strconv.ParseUint(fields[1], 10, 64)
		if err1 == nil && err2 == nil {
			d.ids = append(d.ids, processID{pid, start})
		}
	}
	return true, lines.Err()
}

// lockPatience is how long to wait for the lock of a dead runner's journal. A process
// that the runner was just starting may have inherited it, or another process is
// ending the leftovers.
const lockPatience = 3 * leftoverPatience

// lock locks the journal. It returns false if its runner lives.
func (d *deadJournal) lock() (locked bool, err error) {
	for began := time.Now(); ; time.Sleep(endingTick) {
		switch err := unix.Flock(int(d.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return true, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return !d.runnerLives(), nil // a file system without locks
		case d.runnerLives():
			return false, nil
		case time.Since(began) > lockPatience:
			return false, errors.New("its runner is dead, but its lock is still held")
		}
	}
}

func (d *deadJournal) runnerLives() bool {
	p, err := readProcess(d.runner.pid)
	return err == nil && p.id() == d.runner && !p.dead()
}

// gone reports whether the journal was removed.
func (d *deadJournal) gone() bool {
	info, err := d.file.Stat()
	if err != nil {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
