package slurm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// Unlimited means no time limit.
	Unlimited time.Duration = math.MaxInt64
	// NoDuration stands for "none given", "not known" and "the partition's".
	NoDuration time.Duration = -1
)

// maxDays keeps days, hours and seconds within a time.Duration.
const maxDays = 100_000

// ParseDuration parses each form that Slurm writes or accepts: minutes, MM:SS,
// HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS, seconds with a fraction, a minus sign (a
// job past its limit), and the words for no limit and for no value. A negative time
// means "none left" to callers, so it becomes 0.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	switch strings.ToUpper(text) {
	case "UNLIMITED", "INFINITE", "-1":
		return Unlimited, nil
	case "", "INVALID", "NOT_SET", "PARTITION_LIMIT", "N/A", "NONE", "UNKNOWN", "NO_VAL", "(NULL)":
		return NoDuration, nil
	}
	rest, negative := strings.CutPrefix(text, "-")
	d, err := parseClock(rest)
	if err != nil {
		return NoDuration, fmt.Errorf("invalid Slurm duration %q", text)
	}
	if negative {
		return 0, nil
	}
	return d, nil
}

// parseClock parses a duration that is not a word and has no sign.
func parseClock(text string) (time.Duration, error) {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	day, err := parseNumber(days)
	if err != nil || day > maxDays {
		return 0, fmt.Errorf("%q days", days)
	}
	clock, fraction, err := cutFraction(clock)
	if err != nil {
		return 0, err
	}
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return 0, fmt.Errorf("%d parts", len(parts))
	}
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	if !hasDays {
		switch len(parts) {
		case 1:
			units = units[1:]
		case 2:
			units = units[1:]
		}
	}
	total := time.Duration(day) * 24 * time.Hour
	for i, part := range parts {
		n, err := parseNumber(part)
		if err != nil || n > maxDays*24 {
			return 0, fmt.Errorf("part %q", part)
		}
		total += time.Duration(n) * units[i]
	}
	return total + fraction, nil
}

// cutFraction removes the decimals of the seconds.
func cutFraction(clock string) (string, time.Duration, error) {
	clock, decimals, found := strings.Cut(clock, ".")
	if !found {
		return clock, 0, nil
	}
	if _, err := parseNumber(decimals); err != nil || len(decimals) > 9 {
		return "", 0, fmt.Errorf("decimals %q", decimals)
	}
	f, err := strconv.ParseFloat("0."+decimals, 64)
	return clock, time.Duration(math.Round(f * float64(time.Second))), err
}

// FormatDuration returns a time limit for sbatch and srun: D-HH:MM:SS, rounded
// up to a second, or UNLIMITED. (Slurm rounds limits of jobs up to minutes.)
func FormatDuration(d time.Duration) string {
	if d == Unlimited {
		return "UNLIMITED"
	}
	seconds := int64(max(d, 0)+time.Second-1) / int64(time.Second)
	clock := fmt.Sprintf("%02d:%02d:%02d", seconds/3600%24, seconds/60%60, seconds%60)
	if days := seconds / 86400; days > 0 {
		return fmt.Sprintf("%d-%s", days, clock)
	}
	return clock
}
