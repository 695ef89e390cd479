// Package threads checks whether a program may start the threads that it needs. If not,
// the Go runtime would abort with a dump of all goroutines.
package threads

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Needed returns how many threads and processes a program needs at its start: those of the
// runtime, one for each core that it uses, and a few programs that it calls.
func Needed() int { return 16 + min(runtime.GOMAXPROCS(0), 48) }

// TooFewError says that the user may not start more threads.
type TooFewError struct {
	Limit, Used, Needed int
}

func (e *TooFewError) Error() string {
	return fmt.Sprintf("you have %d processes and threads on this machine and may have %d (ulimit -u); at least %d more are needed", e.Used, e.Limit, e.Needed)
}

// Check raises the soft limit for threads to the hard one. It returns a *TooFewError if
// fewer than needed can be started, and nil if that is not known, or for root, who has no
// limit.
func Check(needed int) error {
	var limit syscall.Rlimit
	if os.Geteuid() == 0 || syscall.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil {
		return nil //nolint:nilerr // without an answer nothing is known to be wrong
	}
	if limit.Cur < limit.Max {
		raised := syscall.Rlimit{Cur: limit.Max, Max: limit.Max}
		if syscall.Setrlimit(unix.RLIMIT_NPROC, &raised) == nil {
			limit = raised
		}
	}
	// Counting all threads of the machine is faster, and mostly enough.
	if all, ok := machineThreads(); ok && limit.Cur >= uint64(all+needed) {
		return nil
	}
	if used := threadsOf(uint32(os.Getuid())); uint64(used+needed) > limit.Cur {
		return &TooFewError{Limit: int(limit.Cur), Used: used, Needed: needed}
	}
	return nil
}

// machineThreads returns the number of threads of all users.
func machineThreads() (int, bool) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) < 4 {
		return 0, false
	}
	_, total, _ := strings.Cut(fields[3], "/")
	n, err := strconv.Atoi(total)
	return n, err == nil
}

// threadsOf counts the threads of a user in /proc.
func threadsOf(uid uint32) (threads int) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	for _, p := range processes {
		info, err := os.Stat(p)
		if err != nil {
			continue // it has ended
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || owner.Uid != uid {
			continue
		}
		stat, err := os.ReadFile(p + "/stat")
		if err != nil {
			continue
		}
		// The name in parentheses may contain anything; num_threads is the 18th field
		// after it.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		const numThreads = 17
		if len(fields) > numThreads {
			if n, err := strconv.Atoi(string(fields[numThreads])); err == nil {
				threads += n
			}
		}
	}
	return threads
}
