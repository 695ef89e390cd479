package workflow

import (
	"fmt"
	"time"
)

// FormatBytes writes a size for people, with two decimals in the largest unit
// that gives at least one: 3.98 GiB. ParseMemory does not read it.
func FormatBytes(bytes int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if bytes > -1024 && bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/1024, 0
	for unit < len(units)-1 && (value >= 1023.995 || value <= -1023.995) {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.2f %s", value, units[unit])
}

// FormatSeconds writes a duration for people: 45s, 1m30s, 2h, 3d4h.
func FormatSeconds(seconds int64) string {
	if seconds < 0 {
		return "-" + FormatSeconds(-seconds)
	}
	const day = 86400
	out := ""
	if seconds >= day {
		out, seconds = fmt.Sprintf("%dd", seconds/day), seconds%day
	}
	for _, u := range []struct {
		size   int64
		letter string
	}{{3600, "h"}, {60, "m"}, {1, "s"}} {
		if n := seconds / u.size; n > 0 {
			out += fmt.Sprintf("%d%s", n, u.letter)
		}
		seconds %= u.size
	}
	if out == "" {
		return "0s"
	}
	return out
}

// FormatDuration is FormatSeconds with tenths below ten seconds.
func FormatDuration(d time.Duration) string {
	if d < 10*time.Second && d > -10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return FormatSeconds(int64(d.Round(time.Second) / time.Second))
}
