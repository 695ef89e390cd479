// Package threads looks whether a program may start the threads that it needs.
// The Go runtime ends with a dump of all goroutines when it may not.
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

// Needed is for how many threads and processes there has to be place when a
// program starts: those of the runtime, one for each core that it uses, and a few
// programs that it calls.
func Needed() int { return 16 + min(runtime.GOMAXPROCS(0), 48) }

// TooFewError says that the user has no place for more threads.
type TooFewError struct {
	Limit, Used, Needed int
}

func (e *TooFewError) Error() string {
	return fmt.Sprintf("you have %d processes and threads on this machine and may have %d (ulimit -u); at least %d more are needed", e.Used, e.Limit, e.Needed)
}

// Check raises the soft limit for threads to the hard one, and returns a
// *TooFewError if there is no place for needed more. Where it cannot tell, and
// for root, whom the limit does not concern, it returns nil.
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
	// All of the machine are soon counted, and mostly fewer than the user may have.
	if all, ok := onMachine(); ok && limit.Cur >= uint64(all+needed) {
		return nil
	}
	if used := of(uint32(os.Getuid())); uint64(used+needed) > limit.Cur {
		return &TooFewError{Limit: int(limit.Cur), Used: used, Needed: needed}
	}
	return nil
}

// onMachine is how many threads there are of all users.
func onMachine() (int, bool) {
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

// of counts the threads of a user, as far as /proc shows them.
func of(uid uint32) (threads int) {
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
		// The name in parentheses may have anything in it; num_threads is the
		// 18th field after it.
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
