package peer

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// mapped turns a uid as the kernel tells it into a user of this namespace. A
// user without a number here appears as the overflow uid, by default 65534,
// which in a namespace with all numbers is the user nobody. If that is who we
// are, and there are others, nobody knows.
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

// allMapped reports whether this user namespace has a number for every user, as
// the first one has; see user_namespaces(7).
var allMapped = sync.OnceValue(func() bool {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read
	var total uint64
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text()) // first uid here, first uid outside, how many
		if len(fields) == 3 {
			n, _ := strconv.ParseUint(fields[2], 10, 64)
			total += n
		}
	}
	return total >= uint64(Unmapped)
})
