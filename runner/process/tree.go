package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// processID identifies a process; a pid alone is reused.
type processID struct {
	pid   int
	start uint64
}

func (p *process) id() processID { return processID{p.pid, p.start} }

// forest sorts the processes of a table into the trees of attempts.
type forest struct {
	self   int
	byPID  map[int]*process
	leader map[int]*Watch // by pid, which is also its session
	// gone is when the leader of a watch ended, in ticks after boot; MaxUint64 if it
	// lives. Younger processes in its session may belong to a new process with the
	// same pid.
	gone  map[*Watch]uint64
	seen  map[processID]*Watch
	byKey map[string]*Watch
	keyOf func(processID) string
	known func(pid int) bool
	owner map[int]*Watch // memo
}

// grow returns the live processes of each watch. A process belongs to an attempt if it
// is in its session, was seen in its tree before, has an ancestor that belongs to it,
// or was reparented to us and has the attempt's key.
func (f *forest) grow(table []process) map[*Watch][]*process {
	f.byPID = make(map[int]*process, len(table))
	f.owner = make(map[int]*Watch, len(table))
	for i := range table {
		f.byPID[table[i].pid] = &table[i]
	}
	trees := make(map[*Watch][]*process)
	for i := range table {
		p := &table[i]
		if p.dead() {
			continue
		}
		if w := f.find(p, 0); w != nil {
			trees[w] = append(trees[w], p)
		}
	}
	return trees
}

// maxDepth limits the walk to the root: a table that is read while processes change may
// contain a loop.
const maxDepth = 1000

func (f *forest) find(p *process, depth int) *Watch {
	if w, ok := f.owner[p.pid]; ok {
		return w
	}
	w := f.findOwner(p, depth)
	f.owner[p.pid] = w
	return w
}

func (f *forest) findOwner(p *process, depth int) *Watch {
	if p.pid == f.self || p.pid <= 1 || depth > maxDepth {
		return nil
	}
	if w := f.leader[p.session]; w != nil && p.start <= f.gone[w] {
		return w
	}
	if w := f.seen[p.id()]; w != nil {
		return w
	}
	if p.ppid == f.self {
		if f.known(p.pid) {
			return nil // the leader of an attempt that is not watched
		}
		return f.byKey[f.keyOf(p.id())]
	}
	if parent := f.byPID[p.ppid]; parent != nil {
		return f.find(parent, depth+1)
	}
	return nil
}

// StrayOf reports whether a process that was reparented to us has the key, or may have
// it. It reads only our own children, so it is cheap enough for the end of every attempt.
func StrayOf(key string) bool {
	for _, pid := range adopted() {
		if found, sure := attemptKeyOf(pid); found == key || !sure {
			return true
		}
	}
	return false
}

// adopted returns the children of this process that it did not start for a job. The
// kernel reparents orphans to the main thread.
func adopted() []int {
	self := strconv.Itoa(os.Getpid())
	list, err := os.ReadFile("/proc/" + self + "/task/" + self + "/children")
	if err != nil {
		return adoptedByTable()
	}
	var pids []int
	for _, field := range bytes.Fields(list) {
		if pid := int(number(field)); !children.isKnown(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// adoptedByTable is adopted for kernels that do not list children.
func adoptedByTable() []int {
	table, err := processes()
	if err != nil {
		return nil
	}
	var pids []int
	for i := range table {
		p := &table[i]
		if p.ppid == os.Getpid() && !p.dead() && !children.isKnown(p.pid) {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// signalTree signals the processes of an attempt: its group once, those that have left
// the group one by one. Stopped ones are continued, so that they can handle it.
func signalTree(leader int, tree []*process, sig unix.Signal) {
	grouped := false
	for _, p := range tree {
		if p.group == leader {
			grouped = true
			continue
		}
		signalProcess(p.pid, sig)
	}
	if grouped {
		signalProcess(-leader, sig)
	}
}

func signalProcess(pid int, sig unix.Signal) {
	_ = unix.Kill(pid, sig) // it may have ended
	if sig != unix.SIGKILL {
		_ = unix.Kill(pid, unix.SIGCONT)
	}
}

// pss returns the proportional set size of a process, in which shared pages are divided
// among their users; its resident size if it cannot be read.
func pss(p *process) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/smaps_rollup")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		if _, gone := os.Stat("/proc/" + strconv.Itoa(p.pid)); gone != nil {
			return 0
		}
	}
	if err != nil {
		return p.rss
	}
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("Pss:")); ok {
			if fields := bytes.Fields(value); len(fields) > 0 {
				return number(fields[0]) << 10
			}
		}
	}
	return p.rss
}

// keyCache remembers the attempt keys of processes.
type keyCache map[processID]string

// maxKeys limits the cache.
const maxKeys = 10_000

func (c keyCache) of(id processID) string {
	key := c[id]
	if key == "" { // it may have one after an exec
		if key, _ = attemptKeyOf(id.pid); key == "" {
			return ""
		}
		if len(c) >= maxKeys {
			clear(c)
		}
		c[id] = key
	}
	return key
}
