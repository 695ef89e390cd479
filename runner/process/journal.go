package process

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/output"
)

// journalLimit is the size from which on a journal is begun anew.
const journalLimit = 1 << 20

// Journal lists the processes that a runner has started, for the one who
// comes after it if it dies. Its lines are "pid start key"; the first line is
// "boot host key pid start" of the runner itself. All keys of its attempts begin
// with its own, which finds those that were started and not noted yet. The file is locked
// while the runner lives. It survives the runner, not the node: after a reboot
// there is nothing left to end.
type Journal struct {
	log  *slog.Logger
	path string
	head string

	mu    sync.Mutex
	file  *os.File
	lines map[string]string // of live attempts, by key
	size  int64
}

// OpenJournal makes the journal of a runner of a workflow under its output directory.
func OpenJournal(outputDir string, workflowID int64, hostname, key string, log *slog.Logger) (*Journal, error) {
	path := filepath.Join(outputDir, output.SpoolDir, fmt.Sprintf("wf%d_%s_%s%s", workflowID, hostname, key, output.ProcessJournalEnding))
	j := &Journal{log: log, path: path, head: journalHead(hostname, key), lines: make(map[string]string)}
	var err error
	if j.file, err = createJournal(path, j.head); err != nil {
		return nil, err
	}
	j.size = int64(len(j.head))
	return j, nil
}

// createJournal makes the file of a journal, locked and with its head.
func createJournal(path, head string) (*os.File, error) {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create process journal: %w", err)
	}
	_ = output.Flock(file, unix.LOCK_EX) // where there are no locks, the head tells whether we live
	if _, err = file.WriteAt([]byte(head), 0); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create process journal: %w", err), file.Close(), os.Remove(path+".new"))
	}
	return file, nil
}

// Started notes a process before its start is reported.
func (j *Journal) Started(pid int, key string) {
	p, err := readProcess(pid)
	if err != nil {
		return // it has been reaped already
	}
	line := journalLine(pid, p.start, key)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines[key] = line
	if err := j.write(line); err != nil {
		j.log.Warn("cannot note a process for those who come after us", "error", err)
	}
}

// journalHead names a runner, which is this process.
func journalHead(hostname, key string) string {
	self, err := readProcess(os.Getpid())
	if err != nil {
		self.pid = os.Getpid()
	}
	return fmt.Sprintf("%s %s %s %d %d\n", BootID(), hostname, key, self.pid, self.start)
}

func journalLine(pid int, start uint64, key string) string {
	return strconv.Itoa(pid) + " " + strconv.FormatUint(start, 10) + " " + key + "\n"
}

// Ended forgets the processes of an attempt; a journal that has grown is begun
// anew with those that live.
func (j *Journal) Ended(key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.lines, key)
	if j.size < journalLimit {
		return
	}
	var text strings.Builder
	for _, line := range j.lines {
		text.WriteString(line)
	}
	if int64(text.Len()) > j.size/2 {
		return
	}
	// The head stays: without it nobody would look for what was started, if we
	// are killed just now.
	if err := j.file.Truncate(int64(len(j.head))); err != nil {
		j.log.Warn("cannot cut the process journal", "error", err)
		return
	}
	j.size = int64(len(j.head))
	if err := j.write(text.String()); err != nil {
		j.log.Warn("cannot write the process journal", "error", err)
	}
}

func (j *Journal) write(text string) error {
	n, err := j.file.WriteAt([]byte(text), j.size)
	j.size += int64(n)
	return err
}

// Close removes the journal, unless processes are left that did not end.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if len(j.lines) == 0 && !output.Unlinked(j.file) { // somebody may have removed it, with what it is in
		err = os.Remove(j.path)
	}
	return errors.Join(err, j.file.Close())
}

// BootID names this boot of this host.
func BootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
}

// Restore writes the journal again.
func (j *Journal) Restore() error {
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

// Removed reports whether somebody has removed the file.
func (j *Journal) Removed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return output.Unlinked(j.file)
}
