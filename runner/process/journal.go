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

// journalLimit is the size from which on a journal is compacted.
const journalLimit = 1 << 20

// Journal lists the processes that a runner has started, so that the next runner can end
// them if it dies. Its lines are "pid start key"; the first line is "boot host key pid
// start" of the runner itself. The keys of its attempts begin with its own, by which
// processes are found that are not listed yet. The file is locked while the runner
// lives. It is not synced: after a reboot no process is left.
type Journal struct {
	log  *slog.Logger
	path string
	head string

	mu    sync.Mutex
	file  *os.File
	lines map[string]string // of live attempts, by key
	size  int64
}

// OpenJournal creates the journal of a runner under its output directory. It returns an
// error if it cannot be written.
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

// createJournal creates a locked journal with its first line.
func createJournal(path, head string) (*os.File, error) {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create process journal: %w", err)
	}
	_ = output.Flock(file, unix.LOCK_EX) // without locks, the first line tells whether we live
	if _, err = file.WriteAt([]byte(head), 0); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create process journal: %w", err), file.Close(), os.Remove(path+".new"))
	}
	return file, nil
}

// Started adds a process, before its start is reported.
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
		j.log.Warn("cannot write the process journal", "error", err)
	}
}

// journalHead returns the first line, for this process.
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

// Ended drops the processes of an attempt. It compacts a large journal.
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
	// The first line stays: without it nobody could find the processes if we are
	// killed now.
	if err := j.file.Truncate(int64(len(j.head))); err != nil {
		j.log.Warn("cannot truncate the process journal", "error", err)
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

// Close removes the journal, unless processes are left that could not be ended.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if len(j.lines) == 0 && !output.Unlinked(j.file) { // its directory may have been removed
		err = os.Remove(j.path)
	}
	return errors.Join(err, j.file.Close())
}

// BootID returns the id of this boot of this host, "unknown" if there is none.
func BootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
}

// Restore recreates a journal that was removed.
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

// Removed reports whether the file was removed.
func (j *Journal) Removed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return output.Unlinked(j.file)
}
