package runner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// journalEnding is the ending of the files that list what a runner started.
const journalEnding = ".pids"

// journalLimit is the size from which on a journal is begun anew.
const journalLimit = 1 << 20

// leftoverPatience is how long leftovers get between SIGTERM and SIGKILL, and
// after it.
const leftoverPatience = 5 * time.Second

// journal lists the processes that a runner has started, for the one who
// comes after it if it dies. Its lines are "pid start key"; the first line is
// "boot host key pid start" of the runner itself. All keys of its attempts begin
// with its own, which finds those that were started and not noted yet. The file is locked
// while the runner lives. It survives the runner, not the node: after a reboot
// there is nothing left to end.
type journal struct {
	log  *slog.Logger
	head string

	mu    sync.Mutex
	file  *os.File
	lines map[string]string // of live attempts, by key
	size  int64
}

func openJournal(outputDir string, workflowID int64, hostname, key string, log *slog.Logger) (*journal, error) {
	path := filepath.Join(outputDir, spoolDir, fmt.Sprintf("wf%d_%s_%s%s", workflowID, hostname, key, journalEnding))
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fmt.Errorf("create process journal: %w", err)
	}
	j := &journal{log: log, file: file, head: journalHead(hostname, key), lines: make(map[string]string)}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = j.write(j.head)
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create process journal: %w", err), file.Close(), os.Remove(path+".new"))
	}
	return j, nil
}

// started notes a process before its start is reported.
func (j *journal) started(pid int, key string) {
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
	return fmt.Sprintf("%s %s %s %d %d\n", bootID(), hostname, key, self.pid, self.start)
}

func journalLine(pid int, start uint64, key string) string {
	return strconv.Itoa(pid) + " " + strconv.FormatUint(start, 10) + " " + key + "\n"
}

// ended forgets the processes of an attempt; a journal that has grown is begun
// anew with those that live.
func (j *journal) ended(key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.lines, key)
	if j.size < journalLimit {
		return
	}
	text := j.head
	for _, line := range j.lines {
		text += line
	}
	if int64(len(text)) > j.size/2 {
		return
	}
	if err := j.file.Truncate(0); err != nil {
		j.log.Warn("cannot cut the process journal", "error", err)
		return
	}
	j.size = 0
	if err := j.write(text); err != nil {
		j.log.Warn("cannot write the process journal", "error", err)
	}
}

func (j *journal) write(text string) error {
	n, err := j.file.WriteAt([]byte(text), j.size)
	j.size += int64(n)
	return err
}

// close removes the journal, unless processes are left that did not end.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if len(j.lines) == 0 {
		err = os.Remove(strings.TrimSuffix(j.file.Name(), ".new"))
	}
	return errors.Join(err, j.file.Close())
}

// EndLeftovers ends the processes that dead runners have left behind on this
// host, as listed under their output directory, and returns how many there
// were. It returns when they are gone, or after a bounded time.
func EndLeftovers(outputDir string, log *slog.Logger) (int, error) {
	paths, err := filepath.Glob(filepath.Join(globQuote(outputDir), spoolDir, "*"+journalEnding))
	if err != nil {
		return 0, fmt.Errorf("list process journals: %w", err)
	}
	total := 0
	for _, path := range paths {
		n, err := endLeftoversOf(path)
		total += n
		if err != nil {
			log.Warn("leftovers of a runner", "path", path, "error", err)
		}
	}
	return total, nil
}

// globQuote makes a path match itself only.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// endLeftoversOf ends what one journal lists, unless its runner lives.
func endLeftoversOf(path string) (int, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil
		}
		return 0, err
	}
	defer file.Close()
	l, here, err := readJournal(file)
	if err != nil || !here {
		return 0, err
	}
	if !l.lock(file) {
		return 0, nil // its runner lives
	}
	// It may have been written to until the lock was ours.
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		l, _, err = readJournal(file)
	}
	if err != nil {
		return 0, err
	}
	n, left := l.end()
	if left > 0 {
		return n, fmt.Errorf("%d processes do not end", left)
	}
	return n, os.Remove(path)
}

// leftovers are the processes that a dead runner's journal names.
type leftovers struct {
	runner processID
	ids    map[processID]bool
	prefix string // of their attempt keys
}

// readJournal reads a journal; here tells whether it is of this host. After a
// reboot it lists nothing.
func readJournal(file *os.File) (l leftovers, here bool, err error) {
	l = leftovers{ids: make(map[processID]bool)}
	lines := bufio.NewScanner(file)
	if !lines.Scan() {
		return l, false, lines.Err()
	}
	head := strings.Fields(lines.Text())
	if len(head) != 5 {
		return l, false, errors.New("not a process journal")
	}
	name, err := os.Hostname()
	if err != nil {
		return l, false, err
	}
	if head[0] != bootID() {
		return l, head[1] == name, nil
	}
	l.prefix = head[2] + "."
	l.runner.pid, _ = strconv.Atoi(head[3])
	l.runner.start, _ = strconv.ParseUint(head[4], 10, 64)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // cut off by the runner's death
		}
		pid, err1 := strconv.Atoi(fields[0])
		start, err2 := strconv.ParseUint(fields[1], 10, 64)
		if err1 == nil && err2 == nil {
			l.ids[processID{pid, start}] = true
		}
	}
	return l, true, lines.Err()
}

// lockPatience is how long a process that a runner was just starting may hold
// on to the runner's lock after the runner's death.
const lockPatience = 2 * time.Second

// lock locks the journal of a dead runner.
func (l leftovers) lock(file *os.File) bool {
	for began := time.Now(); ; time.Sleep(endingTick) {
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true
		}
		p, err := readProcess(l.runner.pid)
		alive := err == nil && p.id() == l.runner && !p.dead()
		if alive || time.Since(began) > lockPatience {
			return false
		}
	}
}

// find returns the living leftovers: the listed processes, their descendants,
// and whatever carries a key of their runner.
func (l leftovers) find() ([]process, error) {
	table, err := processes()
	if err != nil {
		return nil, err
	}
	parents := make(map[int]*process, len(table))
	for i := range table {
		parents[table[i].pid] = &table[i]
	}
	self := os.Getpid()
	var found []process
	for i := range table {
		p := &table[i]
		if p.dead() || p.pid == self {
			continue
		}
		if l.listed(p, parents) || strings.HasPrefix(attemptKeyOf(p.pid), l.prefix) {
			found = append(found, *p)
		}
	}
	return found, nil
}

// listed reports whether p or an ancestor of it is in the journal.
func (l leftovers) listed(p *process, parents map[int]*process) bool {
	for depth := 0; p != nil && p.pid > 1 && depth < maxDepth; depth++ {
		if l.ids[p.id()] {
			return true
		}
		p = parents[p.ppid]
	}
	return false
}

// end signals leftovers until none is left or patience is over; it returns how
// many there were and how many are left.
func (l leftovers) end() (n, left int) {
	if l.prefix == "" {
		return 0, 0 // of an earlier boot
	}
	start := time.Now()
	var told bool
	for empty := 0; ; time.Sleep(endingTick) {
		found, err := l.find()
		if err != nil {
			return n, 0
		}
		if len(found) == 0 {
			// One look may miss a process that is born meanwhile.
			if empty++; empty == 2 {
				return n, 0
			}
			continue
		}
		empty = 0
		n = max(n, len(found))
		waited := time.Since(start)
		switch {
		case waited > 2*leftoverPatience:
			return n, len(found)
		case waited > leftoverPatience:
			l.signal(found, unix.SIGKILL)
		case !told:
			told = true
			l.signal(found, unix.SIGTERM)
		}
	}
}

func (l leftovers) signal(found []process, sig unix.Signal) {
	for i := range found {
		signalProcess(found[i].pid, sig)
	}
}

// bootID names this boot of this host.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
}
