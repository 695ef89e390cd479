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

// leftoverPatience is how long leftovers get between SIGTERM and SIGKILL, and
// after it.
const leftoverPatience = 5 * time.Second

// How often nothing must be seen until nothing is there: in looks that were
// sure, or, on a host where processes are born all the time, in any.
const (
	sureLooks = 2
	anyLooks  = 10
)

// minLooks is how often a stage looks at least, however slow the host is.
const minLooks = 5

// maxRounds is how often one look follows the processes that are born while it
// reads.
const maxRounds = 20

// hunt ends the processes that dead runners left behind: those that their
// journals list, the descendants of these, whatever carries a key of theirs,
// and whatever is in the session of one of them.
//
// Processes fork, end and change their program while the table is read, so one
// look proves little. What was found once stays known, since it may lose its
// parent by our own signal and may have no key.
type hunt struct {
	self     int
	session  int // ours, of which nothing is a leftover just for being in it
	prefixes []string
	known    map[processID]bool
	sessions map[int]bool
	told     map[processID]bool // got SIGTERM
	kill     bool               // SIGKILL from now on

	list   func() ([]int, error)
	read   func(pid int) (process, error)
	keyOf  func(pid int) (key string, sure bool)
	signal func(pid int, sig unix.Signal)
	pause  func(time.Duration)
	now    func() time.Time
}

func newHunt() *hunt {
	session, _ := unix.Getsid(0) // it cannot fail for the caller itself
	return &hunt{
		self: os.Getpid(), session: session,
		known: make(map[processID]bool), sessions: make(map[int]bool), told: make(map[processID]bool),
		list: listProcesses, read: readProcess, keyOf: attemptKeyOf, signal: signalProcess,
		pause: time.Sleep, now: time.Now,
	}
}

// add hunts for what a journal lists.
func (h *hunt) add(d *deadJournal) {
	if d.prefix == "" {
		return
	}
	h.prefixes = append(h.prefixes, d.prefix)
	for _, id := range d.ids {
		h.known[id] = true
	}
}

// end signals leftovers until none is left or patience is over; it returns how
// many there were.
func (h *hunt) end() (n int, err error) {
	if len(h.prefixes) == 0 {
		return 0, nil
	}
	until, looks := h.now().Add(leftoverPatience), 0 // of the stage
	for surely, empty := 0, 0; surely < sureLooks && empty < anyLooks; h.pause(endingTick) {
		found, sure, err := h.scan()
		if len(found) == 0 && err == nil {
			if empty++; sure {
				surely++
			}
			continue
		}
		surely, empty = 0, 0
		n = max(n, len(found))
		if looks++; looks < minLooks || h.now().Before(until) {
			continue
		}
		switch {
		case !h.kill:
			h.kill = true
			until, looks = h.now().Add(leftoverPatience), 0
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

// scan signals the living leftovers that it sees and returns them. It reads
// the list again until nothing new is in it: a process that it has missed,
// because it ended meanwhile, may have left a child. Sure says that it came to
// an end with that.
func (h *hunt) scan() (found []process, sure bool, err error) {
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
				h.meet(&p)
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

// isOurs tells whether a process is a leftover; not certain if it is just
// changing its program.
func (h *hunt) isOurs(p *process, table map[int]*process) (ours, certain bool) {
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
func (h *hunt) descends(p *process, table map[int]*process) bool {
	for depth := 0; p != nil && p.ppid > 1 && depth < maxDepth; depth++ {
		if p = table[p.ppid]; p != nil && h.known[p.id()] {
			return true
		}
	}
	return false
}

// meet remembers a leftover and signals it: SIGTERM once, SIGKILL at every
// meeting. The latter goes to its whole group, in which nobody can then escape
// by forking.
func (h *hunt) meet(p *process) {
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
	case !h.told[id]:
		h.told[id] = true
		h.signal(p.pid, unix.SIGTERM)
	}
}
