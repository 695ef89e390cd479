package connlimit

import (
	"fmt"
	"syscall"
)

// reserved is how many file descriptors are left for everything else: the database with
// its readers, logs, Slurm programs.
const reserved = 256

// Shares is how many connections each listener of a process may have.
type Shares struct {
	Socket int // on the Unix socket, which only the owner can reach
	Host   int // on the loopback address
	Nodes  int // on the address for other hosts
}

// most is the limit of connections per listener, whatever the limit for open files,
// because each costs memory.
const most = 16384

// DivideFiles divides the file descriptors of a process among its listeners.
func DivideFiles(files uint64) Shares {
	left := int(min(files, 4*most))
	left -= min(reserved, left/2)
	return Shares{Socket: clamp(left / 4), Host: clamp(left / 4), Nodes: clamp(left / 2)}
}

func clamp(n int) int { return max(1, min(n, most)) }

// OpenFiles returns how many files this process may have open. The Go runtime has raised
// the soft limit to the hard one at the start.
func OpenFiles() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("limit for open files: %w", err)
	}
	return limit.Cur, nil
}
