package connlimit

import (
	"fmt"
	"syscall"
)

// reserved is how many file descriptors connections leave for everything else:
// the database with its readers, logs, programs of Slurm.
const reserved = 256

// Shares is how many connections each listener of a process may have.
type Shares struct {
	Socket int // on the Unix socket, which only the owner reaches
	Host   int // on the loopback address
	Nodes  int // on the address that other hosts reach
}

// most is how many connections a listener has at most, whatever the limit for
// open files: each costs memory, too.
const most = 16384

// ShareOut divides the file descriptors that a process may have.
func ShareOut(files uint64) Shares {
	left := int(min(files, 4*most))
	left -= min(reserved, left/2)
	return Shares{Socket: clamp(left / 4), Host: clamp(left / 4), Nodes: clamp(left / 2)}
}

func clamp(n int) int { return max(1, min(n, most)) }

// OpenFiles is how many files this process may have open. The Go runtime has
// raised the soft limit to the hard one when the program began.
func OpenFiles() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("limit for open files: %w", err)
	}
	return limit.Cur, nil
}
