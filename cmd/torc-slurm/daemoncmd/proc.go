package daemoncmd

import (
	"fmt"
	"strings"
)

func procStat(pid int) string { return fmt.Sprintf("/proc/%d/stat", pid) }

// zombieStat reports whether the content of a stat file is of a process that has ended. The
// state follows the name, which is in parentheses and may have some itself.
func zombieStat(text string) bool {
	_, rest, ok := strings.Cut(text[max(strings.LastIndex(text, ")"), 0):], ") ")
	return ok && strings.HasPrefix(rest, "Z")
}
