package workflow

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// CountOf returns a number with the form of a noun (and verb) that agrees with it: "1 job
// has", "2 jobs have".
func CountOf(n int64, one, many string) string {
	return fmt.Sprintf("%d %s", n, Plural(n, one, many))
}

// Plural returns one if n is 1, otherwise many.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// JoinText joins the parts that are not empty by commas.
func JoinText(parts ...string) string {
	var nonEmpty []string
	for _, p := range parts {
		if p != "" {
			nonEmpty = append(nonEmpty, p)
		}
	}
	return strings.Join(nonEmpty, ", ")
}

// FormatBytes returns a size for display, with two decimals, in the largest unit in which
// it is at least 1: 3.98 GiB. ParseMemory cannot read it.
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

// FormatSeconds returns a duration for display: 45s, 1m30s, 2h, 3d4h.
func FormatSeconds(seconds int64) string {
	if seconds == 0 {
		return "0s"
	}
	sign, left := "", uint64(seconds)
	if seconds < 0 {
		sign, left = "-", -left // correct for the smallest int64 too
	}
	text := sign
	for _, u := range []struct {
		size   uint64
		letter string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}} {
		if n := left / u.size; n > 0 {
			text += fmt.Sprintf("%d%s", n, u.letter)
		}
		left %= u.size
	}
	return text
}

// FormatDuration returns a duration like FormatSeconds, with tenths below ten seconds.
func FormatDuration(d time.Duration) string {
	if d < 10*time.Second && d > -10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return FormatSeconds(int64(d.Round(time.Second) / time.Second))
}

// OrZero returns the number that ms points to; 0 for nil.
func OrZero(ms *int64) int64 {
	if ms == nil {
		return 0
	}
	return *ms
}

// ShortLine returns a line without surrounding space, cut to 160 characters.
func ShortLine(text string) string {
	const longest = 160
	line := []rune(strings.TrimSpace(text))
	if len(line) > longest {
		return string(line[:longest]) + "…"
	}
	return string(line)
}

// OneLine replaces characters that are not printable with spaces.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// FirstFew returns the first five names, joined by commas, and how many more there are:
// "a, b, c, d, e and 2 more". Without names it returns the number of jobs.
func FirstFew(names []string, total int64) string {
	const shown = 5
	names = names[:min(len(names), shown)]
	text := strings.Join(names, ", ")
	if more := total - int64(len(names)); more > 0 && text != "" {
		text += fmt.Sprintf(" and %d more", more)
	} else if more > 0 {
		text = CountOf(more, "job", "jobs")
	}
	return text
}

// AgoMS returns the duration between two times in milliseconds, for display.
func AgoMS(fromMS, toMS int64) string { return FormatSeconds(max(0, (toMS-fromMS+500)/1000)) }
