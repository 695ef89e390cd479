// Package process starts the processes of attempts, measures and ends their trees, and
// ends leftovers of dead runners.
package process

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// process is one line of the process table.
type process struct {
	pid, ppid, session int
	group              int
	state              byte          // as in /proc: R, S, D, Z, …
	start              uint64        // ticks after boot; identifies the process together with pid
	cpu                time.Duration // of itself and of the children that it waited for
	rss                int64         // bytes
}

// dead reports whether the process has ended and not been reaped.
func (p *process) dead() bool { return p.state == 'Z' || p.state == 'X' }

var pageSize = int64(os.Getpagesize())

// tick is the unit of CPU times in /proc, 1/100 s on every architecture that we build
// for.
const tick = 10 * time.Millisecond

var errStat = errors.New("unexpected form of /proc/PID/stat")

// readProcess reads the entry of one process.
func readProcess(pid int) (process, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	return parseStat(data)
}

// parseStat parses /proc/PID/stat. The name, in parentheses, may contain anything.
func parseStat(data []byte) (process, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 1 || end < open || end+2 >= len(data) {
		return process{}, errStat
	}
	p := process{pid: int(number(bytes.TrimSpace(data[:open])))}
	rest := data[end+2:]
	for i := 3; len(rest) > 0 && i <= 24; i++ {
		field, tail, _ := bytes.Cut(rest, []byte{' '})
		rest = tail
		switch i {
		case 3:
			p.state = field[0]
		case 4:
			p.ppid = int(number(field))
		case 5:
			p.group = int(number(field))
		case 6:
			p.session = int(number(field))
		case 14, 15, 16, 17:
			p.cpu += time.Duration(number(field)) * tick
		case 22:
			p.start = uint64(number(field))
		case 24:
			p.rss = number(field) * pageSize
		}
	}
	if p.pid == 0 || p.start == 0 && p.ppid == 0 && p.state == 0 {
		return process{}, errStat
	}
	return p, nil
}

// number parses a decimal number; it returns 0 for anything else.
func number(b []byte) int64 {
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// bootTicks returns the time since boot in the unit of /proc.
func bootTicks() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return math.MaxUint64 - 1
	}
	return uint64(time.Duration(t.Nano()) / tick)
}

// processes returns the process table, without processes that end meanwhile.
func processes() ([]process, error) {
	pids, err := listProcesses()
	if err != nil {
		return nil, err
	}
	table := make([]process, 0, len(pids))
	for _, pid := range pids {
		if p, err := readProcess(pid); err == nil {
			table = append(table, p)
		}
	}
	return table, nil
}

// listProcesses returns the ids of all processes.
func listProcesses() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// During an exec a process has no environment for a moment, which may be long on a
// busy host.
const (
	execTries = 5
	execPause = time.Millisecond
)

// attemptKeyOf returns the attempt key in a process's initial environment, empty if it
// has none or we may not read it. It is not sure of a process in the middle of an exec.
func attemptKeyOf(pid int) (key string, sure bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	for range execTries {
		data, err := os.ReadFile(dir + "/environ")
		if err != nil {
			return "", isGone(err) || errors.Is(err, os.ErrPermission)
		}
		if len(data) > 0 {
			return findAttemptKey(data), true
		}
		// A process with arguments has started with an empty environment. Zombies and
		// kernel threads have neither.
		arguments, err := os.ReadFile(dir + "/cmdline")
		if err != nil || len(arguments) > 0 {
			return "", isGone(err) || err == nil
		}
		if p, err := readProcess(pid); isGone(err) || err == nil && (p.dead() || p.session == 0) {
			return "", true
		}
		time.Sleep(execPause)
	}
	return "", false
}

func findAttemptKey(environ []byte) string {
	prefix := []byte(AttemptKeyVariable + "=")
	for len(environ) > 0 {
		entry, rest, _ := bytes.Cut(environ, []byte{0})
		if value, ok := bytes.CutPrefix(entry, prefix); ok {
			return string(value)
		}
		environ = rest
	}
	return ""
}
