package oom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Process is a process of a job in the process table.
type Process struct {
	PID   int
	Start uint64 // ticks after boot; identifies the process together with the pid
	Size  int64  // bytes of memory
}

// Which processes are watched.
const (
	largeProcess = 32 << 20 // those of this size are watched
	alwaysNumber = 4        // of the largest ones of each job, whatever their size
	maxPerJob    = 128
	maxFollowed  = 1024
)

// toFollow returns the processes to watch, the largest first.
func toFollow(tree []Process) []Process {
	tree = slices.Clone(tree)
	slices.SortFunc(tree, func(a, b Process) int { return int(min(max(b.Size-a.Size, -1), 1)) })
	n := min(alwaysNumber, len(tree))
	for n < min(len(tree), maxPerJob) && tree[n].Size >= largeProcess {
		n++
	}
	return tree[:n]
}

// followed is a process that is watched.
type followed struct {
	Process
	fd   int
	key  string
	name string
}

// watcher waits for the ends of processes that are not our own children.
type watcher struct {
	ends func([]processEnd) // called by its goroutine

	mu    sync.Mutex
	epoll int
	wake  int           // stops the goroutine
	done  chan struct{} // closed when it has ended; nil until there is a process to watch
	byPID map[int]*followed
	byFD  map[int]*followed
	count map[string]int // by key
	most  int
}

// processEnd is the end of a watched process.
type processEnd struct {
	followed
	how     How
	nothing bool // it ended otherwise than by SIGKILL
}

// newWatcher returns a watcher without processes. It returns an error if this system
// cannot watch processes.
func newWatcher(ends func([]processEnd)) (*watcher, error) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, fmt.Errorf("follow a process: %w", err)
	}
	unix.Close(fd)
	w := &watcher{
		ends: ends, most: maxFollowed,
		byPID: make(map[int]*followed), byFD: make(map[int]*followed), count: make(map[string]int),
	}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		w.most = int(min(uint64(maxFollowed), files.Cur/8))
	}
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("follow processes: %w", err)
	}
	if w.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = w.add(w.wake)
	}
	if err != nil {
		unix.Close(w.epoll)
		return nil, fmt.Errorf("follow processes: %w", err)
	}
	return w, nil
}

func (w *watcher) add(fd int) error {
	return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// follow watches the large processes of a job, except for leader, which is our child.
func (w *watcher) follow(key string, leader int, tree []Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range toFollow(tree) {
		if p.PID == leader {
			continue
		}
		if f := w.byPID[p.PID]; f != nil && f.Start == p.Start {
			f.Size = max(f.Size, p.Size)
			continue
		}
		if w.count[key] >= maxPerJob || len(w.byFD) >= w.most {
			return
		}
		w.open(key, p)
	}
}

// open starts to watch a process, unless it has ended: its pid may have been reused.
func (w *watcher) open(key string, p Process) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	stat, err := readStat(p.PID)
	if err != nil || stat.start != p.Start || w.add(fd) != nil {
		unix.Close(fd)
		return
	}
	f := &followed{Process: p, fd: fd, key: key, name: printable(stat.name)}
	if old := w.byPID[p.PID]; old != nil {
		w.forget(old)
	}
	w.byPID[p.PID], w.byFD[fd] = f, f
	w.count[key]++
	if w.done == nil {
		w.done = make(chan struct{})
		go w.run(w.done)
	}
}

// forget stops watching a process.
func (w *watcher) forget(f *followed) {
	unix.Close(f.fd)
	delete(w.byFD, f.fd)
	if w.byPID[f.PID] == f {
		delete(w.byPID, f.PID)
	}
	if w.count[f.key]--; w.count[f.key] <= 0 {
		delete(w.count, f.key)
	}
}

// run reports ends until close.
func (w *watcher) run(done chan struct{}) {
	defer close(done)
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		var batch []processEnd
		w.mu.Lock()
		for _, event := range events[:n] {
			if int(event.Fd) == w.wake {
				w.mu.Unlock()
				return
			}
			if f := w.byFD[int(event.Fd)]; f != nil {
				how, nothing := howEnded(f)
				batch = append(batch, processEnd{followed: *f, how: how, nothing: nothing})
				w.forget(f)
			}
		}
		w.mu.Unlock()
		if len(batch) > 0 {
			w.ends(batch)
		}
	}
}

// close stops watching.
func (w *watcher) close() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	_, _ = unix.Write(w.wake, one)
	w.mu.Lock()
	done := w.done
	w.mu.Unlock()
	if done != nil {
		<-done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.byFD {
		unix.Close(f.fd)
	}
	clear(w.byFD)
	unix.Close(w.wake)
	unix.Close(w.epoll)
}

// howEnded returns how a process ended, from /proc until its parent has reaped it, and
// from newer kernels afterwards as well.
func howEnded(f *followed) (how How, nothing bool) {
	const tries = 3 // its parent may reap it meanwhile
	for range tries {
		if stat, err := readStat(f.PID); err == nil && stat.start == f.Start && stat.dead {
			f.name = printable(stat.name) // it may have called exec since
			return judge(stat.exit)
		}
		if status, ok := exitOf(f.fd); ok {
			return judge(status)
		}
	}
	return Unknown, false
}

func judge(status unix.WaitStatus) (how How, nothing bool) {
	if status.Signaled() && status.Signal() == unix.SIGKILL {
		return Killed, false
	}
	return Unknown, true
}

// pidfdGetInfo is PIDFD_GET_INFO of Linux 6.13, for the first version of its answer.
const pidfdGetInfo = 0xc040ff0b

// exitOf returns how a reaped process ended. It works since Linux 6.15.
func exitOf(fd int) (unix.WaitStatus, bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), pidfdGetInfo, uintptr(unsafe.Pointer(&info)))
	if errno != 0 || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return 0, false
	}
	return unix.WaitStatus(info.Exit_code), true
}

// stat is the part of /proc/PID/stat that is used.
type stat struct {
	name  string
	start uint64
	dead  bool
	exit  unix.WaitStatus
}

func readStat(pid int) (stat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(data)
}

// parseStat parses /proc/PID/stat. The name, in parentheses, may contain anything.
func parseStat(data []byte) (stat, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("unexpected form of /proc/PID/stat: %q", data)
	}
	s := stat{name: string(data[open+1 : end])}
	fields := bytes.Fields(data[end+1:])
	const state, start, exit = 0, 19, 49 // the fields 3, 22 and 52 of proc(5): two are in front
	if len(fields) <= exit {
		return stat{}, fmt.Errorf("unexpected form of /proc/PID/stat: %q", data)
	}
	s.dead = fields[state][0] == 'Z' || fields[state][0] == 'X'
	s.start = uint64(number(fields[start]))
	s.exit = unix.WaitStatus(number(fields[exit]))
	return s, nil
}

// printable returns the name of a process without control characters.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
}
