package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// leftoverPatience is the time between SIGTERM and SIGKILL of leftovers, and again to
// the error.
const leftoverPatience = 5 * time.Second

// How many consecutive scans must find nothing: conclusive ones, or any scans on a host
// where new processes appear all the time.
const (
	conclusiveScans = 2
	emptyScans      = 10
)

// minScans is the least number of scans per stage, on a slow host, too.
const minScans = 5

// maxRounds is how often one scan repeats reading the table for new processes.
const maxRounds = 20

// cleanup ends the processes that dead runners left behind: those in their journals,
// the descendants of these, all with one of their keys, and all in the session of one
// of them.
//
// Processes fork, end and exec while the table is read, so one scan proves little. A
// process that was found once stays known: its parent may end by our own signal, and
// it may have no key.
type cleanup struct {
	self       int
	session    int // ours; not everything in it is a leftover
	prefixes   []string
	known      map[processID]bool
	sessions   map[int]bool
	terminated map[processID]bool // they have got SIGTERM
	kill       bool               // SIGKILL from now on

	list   func() ([]int, error)
	read   func(pid int) (process, error)
	keyOf  func(pid int) (key string, sure bool)
	signal func(pid int, sig unix.Signal)
	pause  func(time.Duration)
	now    func() time.Time
}

func newCleanup() *cleanup {
	session, _ := unix.Getsid(0) // cannot fail for the caller itself
	return &cleanup{
		self: os.Getpid(), session: session,
		known: make(map[processID]bool), sessions: make(map[int]bool), terminated: make(map[processID]bool),
		list: listProcesses, read: readProcess, keyOf: attemptKeyOf, signal: signalProcess,
		pause: time.Sleep, now: time.Now,
	}
}

// add adds the processes of a journal.
func (h *cleanup) add(d *deadJournal) {
	if d.prefix == "" {
		return
	}
	h.prefixes = append(h.prefixes, d.prefix)
	for _, id := range d.ids {
		h.known[id] = true
	}
}

// end signals leftovers until none is left, and returns how many there were. It returns
// an error if some do not end.
func (h *cleanup) end() (n int, err error) {
	if len(h.prefixes) == 0 {
		return 0, nil
	}
	until, scans := h.now().Add(leftoverPatience), 0 // of the stage
	for surely, empty := 0, 0; surely < conclusiveScans && empty < emptyScans; h.pause(endingTick) {
		found, sure, err := h.scan()
		if len(found) == 0 && err == nil {
			if empty++; sure {
				surely++
			}
			continue
		}
		surely, empty = 0, 0
		n = max(n, len(found))
		if scans++; scans < minScans || h.now().Before(until) {
			continue
		}
		switch {
		case !h.kill:
			h.kill = true
			until, scans = h.now().Add(leftoverPatience), 0
		case err != nil:
			return n, err
		default:
			return n, fmt.Errorf("processes %s do not end", pidList(found))
		}
	}
	return n, nil
}

func pidList(list []process) string {
	pids := make([]string, len(list))
	for i := range list {
		pids[i] = strconv.Itoa(list[i].pid)
	}
	return strings.Join(pids, ", ")
}

// scan signals the live leftovers and returns them. It repeats reading the list until
// nothing in it is new, since a process that ended meanwhile may have left a child.
// sure says that it got that far.
func (h *cleanup) scan() (found []process, sure bool, err error) {
	table := make(map[int]*process)
	for range maxRounds {
		pids, err := h.list()
		if err != nil {
			return found, false, fmt.Errorf("list the processes: %w", err)
		}
		sure = true
		for _, pid := range pids {
			if table[pid] != nil || pid == h.self {
				continue
			}
			sure = false
			p, err := h.read(pid)
			if isGone(err) {
				continue
			}
			if err != nil {
				return found, false, fmt.Errorf("read process %d: %w", pid, err)
			}
			ours, certain := h.isOurs(&p, table)
			if certain {
				table[pid] = &p
			}
			if ours {
				h.signalLeftover(&p)
				found = append(found, p)
			}
		}
		if sure {
			break
		}
	}
	return found, sure, nil
}

func isGone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// isOurs reports whether a process is a leftover. It is not certain of a process in
// the middle of an exec.
func (h *cleanup) isOurs(p *process, table map[int]*process) (ours, certain bool) {
	if p.dead() {
		return false, true
	}
	if h.known[p.id()] || h.sessions[p.session] || h.descends(p, table) {
		return true, true
	}
	key, certain := h.keyOf(p.pid)
	for _, prefix := range h.prefixes {
		if strings.HasPrefix(key, prefix) {
			return true, true
		}
	}
	return false, certain
}

// descends reports whether an ancestor of p is a leftover.
func (h *cleanup) descends(p *process, table map[int]*process) bool {
	for depth := 0; p != nil && p.ppid > 1 && depth < maxDepth; depth++ {
		if p = table[p.ppid]; p != nil && h.known[p.id()] {
			return true
		}
	}
	return false
}

// signalLeftover remembers a leftover and signals it: SIGTERM once, SIGKILL in every
// scan. SIGKILL goes to its whole group, so that no process escapes by forking.
func (h *cleanup) signalLeftover(p *process) {
	id := p.id()
	h.known[id] = true
	if p.session != h.session && p.session > 0 {
		h.sessions[p.session] = true
	}
	switch {
	case h.kill:
		h.signal(p.pid, unix.SIGKILL)
		if p.session != h.session && p.group > 1 {
			h.signal(-p.group, unix.SIGKILL)
		}
	case !h.terminated[id]:
		h.terminated[id] = true
		h.signal(p.pid, unix.SIGTERM)
	}
}
