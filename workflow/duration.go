package workflow

import (
	"strings"
	"time"
)

// ParseDuration reads a duration as specifications and policies write it: ISO
// 8601 ("PT1H30M", "P2D") or in Go's style ("10s", "1h30m", "250ms"). It is never
// negative and at most 100 years.
func ParseDuration(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
	if strings.HasPrefix(strings.ToUpper(s), "P") {
		seconds, err := parseISO(s)
		return time.Duration(seconds * float64(time.Second)), err
	}
	bad := func(why string) (time.Duration, error) {
		return 0, Errorf(CodeInvalid, "duration %q: %s", text, why).
			WithHint("write for example 30s, 5m, 1h30m, or in ISO 8601 PT30S, PT5M, P2D")
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return bad("not a number with a unit")
	case d < 0:
		return bad("negative")
	case d > maxRuntime*time.Second:
		return bad("longer than 100 years")
	}
	return d, nil
}

// wholeSeconds rounds up: what is to take so long ends no earlier.
func wholeSeconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

// CanonicalRuntime reads a runtime like ParseDuration, and returns it as requirements
// have it. One of less than a second or more than 100 years is an error.
func CanonicalRuntime(text string) (string, error) {
	d, err := ParseDuration(text)
	if err != nil {
		return "", err
	}
	seconds := wholeSeconds(d)
	if seconds < 1 || seconds > maxRuntime {
		return "", Errorf(CodeInvalid, "runtime %q: it is between a second and 100 years", text)
	}
	return FormatRuntime(seconds), nil
}
