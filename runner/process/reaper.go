package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// children waits for all child processes of this process that runners start
// or inherit. There is one, because a process has one set of children: two
// waiters would take each other's exit statuses.
var children reaper

// foreignRetry is how soon the children are looked at again while a child of
// somebody else, which is not ours to reap, stands in the way.
const foreignRetry = 5 * time.Millisecond

// reaper is the one waiter. Jobs are started through it, so that it knows
// them; strays (descendants of jobs that were given to us because their parent
// died) are reaped; children of other code in this process are left alone.
//
// It asks with WNOWAIT who has died before it reaps: a plain wait for any child
// would also take the children of os/exec.
type reaper struct {
	mu    sync.Mutex // guards users, known
	users int
	known map[int]func(Exit)
	stop  chan struct{}
	done  chan struct{}

	// spawning is held for reading while a process is started and not yet
	// known, so that an early death is not taken for a stray's.
	spawning sync.RWMutex
	session  int
}

// acquire makes this process a subreaper and starts the waiter if needed.
func (r *reaper) acquire() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users == 0 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("become subreaper: %w", err)
		}
		session, err := unix.Getsid(0)
		if err != nil {
			return fmt.Errorf("read own session: %w", err)
		}
		r.session = session
		r.known = make(map[int]func(Exit))
		r.stop, r.done = make(chan struct{}), make(chan struct{})
		// Not a request to the program: the kernel's word that a child died.
		died := make(chan os.Signal, 1)
		signal.Notify(died, unix.SIGCHLD)
		go r.run(died, r.stop, r.done)
	}
	r.users++
	return nil
}

// release ends the waiter after its last user.
func (r *reaper) release() {
	r.mu.Lock()
	r.users--
	last := r.users == 0
	stop, done := r.stop, r.done
	r.mu.Unlock()
	if last {
		close(stop)
		<-done
	}
}

// start starts a process; exited is called once, from the waiter, when it has
// been reaped.
func (r *reaper) start(argv []string, attr *syscall.ProcAttr, exited func(Exit)) (int, error) {
	r.spawning.RLock()
	defer r.spawning.RUnlock()
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	r.known[pid] = exited
	r.mu.Unlock()
	return pid, nil
}

// isKnown reports whether pid was started here and has not been reaped.
func (r *reaper) isKnown(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.known[pid]
	return ok
}

// signalGroup signals the process group of a leader. A group keeps its number
// while any member lives, so the number cannot have passed to somebody else as
// long as the leader is not reaped or a member is seen alive.
func (r *reaper) signalGroup(leader int, sig unix.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[leader]; ok {
		_ = unix.Kill(-leader, sig) // it may be a zombie already
	}
}

func (r *reaper) run(died chan os.Signal, stop, done chan struct{}) {
	defer close(done)
	defer signal.Stop(died)
	for {
		var again <-chan time.Time
		if r.reap() {
			again = time.After(foreignRetry)
		}
		select {
		case <-died:
		case <-again:
		case <-stop:
			return
		}
	}
}

// reap takes every dead child that is ours. It reports whether a foreign one
// stands in the way of seeing more.
func (r *reaper) reap() (blocked bool) {
	for {
		pid, err := nextDead()
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid == 0 {
			return false
		}
		if r.take(pid) {
			continue
		}
		r.settle()
		if r.take(pid) {
			continue
		}
		if !r.isStray(pid) {
			r.sweep()
			return true
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}

// settle waits until the starts that are under way have become known.
func (r *reaper) settle() {
	r.spawning.Lock()
	defer r.spawning.Unlock()
}

// childInfo is siginfo_t as waitid fills it, on 64-bit Linux.
type childInfo struct {
	signo, errno, code, _ int32
	pid, uid, status      int32
	_                     [100]byte
}

// nextDead returns the pid of a dead child without reaping it, 0 if none.
func nextDead() (int, error) {
	var info childInfo
	err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)),
		unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return int(info.pid), err
}

// take reaps pid if it is known and dead, and tells its starter.
func (r *reaper) take(pid int) bool {
	r.mu.Lock()
	exited, ok := r.known[pid]
	if !ok {
		r.mu.Unlock()
		return false
	}
	var status unix.WaitStatus
	var usage unix.Rusage
	got, err := unix.Wait4(pid, &status, unix.WNOHANG, &usage)
	if err != nil || got != pid {
		r.mu.Unlock()
		return false
	}
	delete(r.known, pid)
	r.mu.Unlock()
	exit := exitOf(status, &usage)
	// The group outlives its leader if the job left processes behind.
	exit.Remains = !errors.Is(unix.Kill(-pid, 0), unix.ESRCH)
	exited(exit)
	return true
}

// sweep asks for every known process alone.
func (r *reaper) sweep() {
	r.mu.Lock()
	pids := make([]int, 0, len(r.known))
	for pid := range r.known {
		pids = append(pids, pid)
	}
	r.mu.Unlock()
	for _, pid := range pids {
		r.take(pid)
	}
}

// isStray reports whether a dead child is a descendant of a job: it lives in
// another session than we do, which children of other code here do not.
func (r *reaper) isStray(pid int) bool {
	p, err := readProcess(pid)
	return err == nil && p.session != r.session
}

func exitOf(status unix.WaitStatus, usage *unix.Rusage) Exit {
	e := Exit{
		At:     time.Now(),
		CPU:    time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		MaxRSS: usage.Maxrss << 10,
	}
	if status.Signaled() {
		e.Signal = int(status.Signal())
	} else {
		e.Code = status.ExitStatus()
	}
	return e
}

// SignalGroup signals the process group of a leader that was started here and has not
// been reaped.
func SignalGroup(leader int, sig unix.Signal) { children.signalGroup(leader, sig) }
