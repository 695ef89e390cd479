package workflow

import (
	"strings"
	"time"
)

// ParseDuration reads a duration of a specification or policy, in ISO 8601 ("PT1H30M",
// "P2D") or in Go's style ("10s", "1h30m", "250ms"). It returns an error of CodeInvalid
// if the text is not a duration, is negative, or is longer than 100 years.
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

// wholeSeconds returns the duration in seconds, rounded up, so that nothing ends early.
func wholeSeconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

// CanonicalRuntime reads a runtime like ParseDuration and returns it in the form of
// resource requirements. It returns an error of CodeInvalid if the text cannot be read, or
// is not between a second and 100 years.
func CanonicalRuntime(text string) (string, error) {
	d, err := ParseDuration(text)
	if err != nil {
		return "", err
	}
	seconds := wholeSeconds(d)
	if seconds < 1 || seconds > maxRuntime {
		return "", Errorf(CodeInvalid, "runtime %q: it must be between a second and 100 years", text)
	}
	return FormatRuntime(seconds), nil
}
