package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// YesNo returns an optional flag as yes or no; nil is no.
func YesNo(flag *bool) string {
	if flag != nil && *flag {
		return "yes"
	}
	return "no"
}

// Minutes returns a number of minutes as a duration.
func Minutes(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }

// ClockTime formats a duration as 0:07, 12:34 or 3:00:00.
func ClockTime(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// ShortTime is ClockTime with tenths of a second for a short duration.
func ShortTime(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return ClockTime(d)
}

// BytesText formats a size in bytes; empty for nil.
func BytesText(n *int64) string {
	if n == nil {
		return ""
	}
	return workflow.FormatBytes(*n)
}

// PercentText formats a percentage with one decimal.
func PercentText(v float64) string { return fmt.Sprintf("%.1f%%", v) }

// ElapsedSince formats the time since start, which is an RFC 3339 time; empty for nil or
// another format.
func ElapsedSince(start *string, now time.Time) string {
	if start == nil {
		return ""
	}
	t, err := time.Parse(time.RFC3339Nano, *start)
	if err != nil {
		return ""
	}
	return workflow.FormatDuration(max(0, now.Sub(t)))
}

// LocalTime formats a Unix time in milliseconds as local time; empty for 0.
func LocalTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Format(time.DateTime)
}

// ParseSpan parses the duration of a flag, which may be in days.
func ParseSpan(flag, text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 15); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := workflow.ParseDuration(text)
	if err != nil {
		return 0, UsageErrorf("--%s %q is not a duration such as 7d, 12h or P7D", flag, text)
	}
	return d, nil
}
