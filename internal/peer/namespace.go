package peer

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// mapped returns the user of this namespace for a uid from the kernel. Unmapped users have
// the overflow uid, by default 65534, which may also be the user nobody. It returns
// ErrUnknown if we are that user and others may be, too.
func mapped(uid uint32) (uint32, error) {
	if uid != overflowUID() || allMapped() {
		return uid, nil
	}
	if uid == uint32(os.Geteuid()) {
		return 0, fmt.Errorf("uid %d stands for several users in this user namespace: %w", uid, ErrUnknown)
	}
	return Unmapped, nil
}

var overflowUID = sync.OnceValue(func() uint32 {
	const byDefault = 65534
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return byDefault
	}
	uid, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return byDefault
	}
	return uint32(uid)
})

// allMapped reports whether this user namespace maps all users, like the initial one; see
// user_namespaces(7).
var allMapped = sync.OnceValue(func() bool {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read
	var total uint64
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text()) // first uid inside, first uid outside, count
		if len(fields) == 3 {
			n, _ := strconv.ParseUint(fields[2], 10, 64)
			total += n
		}
	}
	return total >= uint64(Unmapped)
})
