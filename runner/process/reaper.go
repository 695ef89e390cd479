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

// children waits for all child processes that the runners of this process start or
// inherit. It is a singleton, since two waiters would take each other's exit statuses.
var children reaper

// foreignRetry is how soon the children are checked again while waitid returns a child
// of other code, which we must not reap.
const foreignRetry = 5 * time.Millisecond

// reaper reaps the jobs, which are started through it, and strays: descendants of jobs
// that were reparented to us because their parent ended. It does not reap children of
// other code in this process.
//
// It calls waitid with WNOWAIT before it reaps, because a plain wait for any child would
// also reap the children of os/exec.
type reaper struct {
	mu    sync.Mutex // guards users, known
	users int
	known map[int]func(Exit)
	stop  chan struct{}
	done  chan struct{}

	// spawning is held for reading while a process is started and not yet in known, so
	// that it is not mistaken for a stray if it ends early.
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
		// SIGCHLD is not a request to the program.
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

// start starts a process. exited is called once, from the waiter, when it has been
// reaped.
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

// signalGroup signals the process group of a leader that has not been reaped. Until then
// the number of the group is not reused.
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

// reap reaps all dead children that are ours. It reports whether a foreign one hides
// further ones.
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
		r.waitForStarts()
		if r.take(pid) {
			continue
		}
		if !r.isStray(pid) {
			r.reapKnown()
			return true
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}

// waitForStarts waits until the starts under way are in known.
func (r *reaper) waitForStarts() {
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

// take reaps pid if it is known and dead, and calls its callback.
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

// reapKnown tries to reap each known process.
func (r *reaper) reapKnown() {
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

// isStray reports whether a dead child is a descendant of a job: it is in another
// session than ours, unlike children of other code in this process.
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
