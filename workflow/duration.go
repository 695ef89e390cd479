package workflow

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a duration of a specification or policy: in ISO 8601 ("PT1H30M", "P2D"),
// with units ("10s", "1h30m", "2d12h", "250ms"), or as Slurm writes it ("01:30:00", "2-12:00:00").
// It returns an error of CodeInvalid if the text is not a duration, is negative, is longer than
// 100 years, or could mean several: a number without a unit, and "10:30".
func ParseDuration(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
	if strings.HasPrefix(strings.ToUpper(s), "P") {
		seconds, err := parseISO(s)
		return time.Duration(seconds * float64(time.Second)), err
	}
	bad := func(why string) (time.Duration, error) {
		return 0, Errorf(CodeInvalid, "duration %q: %s", text, why).
			WithHint("write for example 30s, 5m, 1h30m, 2d, 01:30:00, or in ISO 8601 PT30S, PT5M, P2D")
	}
	d, ok := parseClock(s)
	if !ok {
		d, ok = parseUnits(s)
	}
	switch {
	case !ok && shortClock.MatchString(s):
		return bad("it could be hours and minutes or minutes and seconds")
	case !ok && bareNumber.MatchString(s):
		return bad("it has no unit")
	case !ok:
		return bad("not a number with a unit")
	case d < 0:
		return bad("negative")
	case d > maxRuntime*time.Second:
		return bad("longer than 100 years")
	}
	return d, nil
}

var (
	// clock matches hours, minutes and seconds, with days, and days with hours and less.
	clock      = regexp.MustCompile(`^(?:(\d{1,6})-)?(\d{1,6}):([0-5]?\d):([0-5]?\d)$|^(\d{1,6})-(\d{1,2})(?::([0-5]?\d))?$`)
	shortClock = regexp.MustCompile(`^\d+:\d+$`)
	bareNumber = regexp.MustCompile(`^\d+(\.\d+)?$`)
	// longUnits matches weeks and days, which Go does not know, before the rest.
	longUnits = regexp.MustCompile(`^(?:(\d{1,6}(?:\.\d+)?)w)?(?:(\d{1,6}(?:\.\d+)?)d)?(.*)$`)
)

const day = 24 * time.Hour

// parseClock reads a duration as Slurm writes it.
func parseClock(text string) (d time.Duration, ok bool) {
	m := clock.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	for i, unit := range [...]time.Duration{1: day, 2: time.Hour, 3: time.Minute, 4: time.Second, 5: day, 6: time.Hour, 7: time.Minute} {
		if i > 0 && m[i] != "" {
			n, err := strconv.ParseInt(m[i], 10, 64)
			if err != nil || n > int64(maxRuntime*time.Second/unit) {
				return 0, false
			}
			d += time.Duration(n) * unit
		}
	}
	return d, true
}

// parseUnits reads numbers with units, the largest first.
func parseUnits(text string) (d time.Duration, ok bool) {
	m := longUnits.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	for i, unit := range [...]time.Duration{1: 7 * day, 2: day} {
		if i == 0 || m[i] == "" {
			continue
		}
		n, err := strconv.ParseFloat(m[i], 64)
		if err != nil || n > float64(maxRuntime*time.Second/unit) {
			return 0, false
		}
		d += time.Duration(n * float64(unit))
	}
	if m[3] == "" {
		return d, m[1]+m[2] != ""
	}
	if d > 0 && (m[3][0] == '-' || m[3][0] == '+') {
		return 0, false
	}
	rest, err := time.ParseDuration(m[3])
	return d + rest, err == nil
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
