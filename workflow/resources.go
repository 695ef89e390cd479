package workflow

import (
	"math"
	"strconv"
	"strings"
)

// DefaultRequirements is the name of the requirements that every workflow gets. Neither
// their memory nor their runtime is enforced.
const DefaultRequirements = "default"

// ResourceRequirements is what a job requires, per node.
type ResourceRequirements struct {
	ID         int64
	WorkflowID int64
	Name       string
	NumCPUs    int64
	NumGPUs    int64
	NumNodes   int64
	Memory     string // as written, for example "4g"
	Runtime    string // ISO 8601, as written, for example "PT30M"
}

// Enforced reports whether a runner may kill a job that exceeds r.
func (r *ResourceRequirements) Enforced() bool { return r.Name != DefaultRequirements }

// ParseMemory returns the bytes of a size such as "512m": an integer with an optional
// letter k, m, g or t (binary, any case); no letter means bytes. It accepts exactly what
// torc accepts, and returns an error of CodeInvalid for everything else.
func ParseMemory(text string) (int64, error) {
	s := strings.TrimSpace(text)
	bad := func(why string) (int64, error) {
		return 0, Errorf(CodeInvalid, "memory %q: %s", text, why).
			WithHint("write a whole number with an optional k, m, g or t, for example 512m or 4g")
	}
	if s == "" {
		return bad("empty")
	}
	shift := uint(0)
	switch s[len(s)-1] {
	case 'k', 'K':
		shift = 10
	case 'm', 'M':
		shift = 20
	case 'g', 'G':
		shift = 30
	case 't', 'T':
		shift = 40
	}
	digits := s
	if shift > 0 {
		digits = strings.TrimSpace(s[:len(s)-1])
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil && strings.Contains(err.Error(), "range"):
		return bad("too large")
	case err != nil:
		return bad("not a whole number with an optional unit")
	case n < 0:
		return bad("negative")
	case n > math.MaxInt64>>shift:
		return bad("too large")
	}
	return n << shift, nil
}

// FormatMemory returns bytes in the form that ParseMemory reads, in the largest unit that
// is exact.
func FormatMemory(bytes int64) string {
	for _, u := range []struct {
		shift  uint
		letter string
	}{{40, "t"}, {30, "g"}, {20, "m"}, {10, "k"}} {
		if bytes != 0 && bytes&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(bytes>>u.shift, 10) + u.letter
		}
	}
	return strconv.FormatInt(bytes, 10)
}

// Years and months of ISO 8601 in seconds, as in torc.
const (
	secondsPerYear  = 31_557_600
	secondsPerMonth = 2_629_800
	// maxRuntime keeps sums of durations within a time.Duration, and whole
	// seconds exact in a float64.
	maxRuntime = 100 * secondsPerYear
)

// ParseRuntime returns the whole seconds of an ISO 8601 duration such as "PT30M" or
// "P1DT2H"; fractions of a second are dropped. A year is 365.25 days and a month a twelfth
// of that, as in torc. It returns an error of CodeInvalid for other texts and for more than
// 100 years.
func ParseRuntime(text string) (int64, error) {
	seconds, err := parseISO(text)
	return int64(seconds), err
}

// parseISO does the same as ParseRuntime, with fractions. Whole seconds are exact.
func parseISO(text string) (float64, error) {
	s := strings.ToUpper(strings.TrimSpace(text))
	bad := func(why string) (float64, error) {
		return 0, Errorf(CodeInvalid, "duration %q: %s", text, why).
			WithHint("write an ISO 8601 duration, for example PT30M, PT1H30M or P2D")
	}
	if !strings.HasPrefix(s, "P") || len(s) < 3 {
		return bad("does not start with P followed by an amount")
	}
	s = s[1:]
	dateUnits := map[byte]float64{'Y': secondsPerYear, 'M': secondsPerMonth, 'W': 7 * 86400, 'D': 86400}
	timeUnits := map[byte]float64{'H': 3600, 'M': 60, 'S': 1}
	units, total, number, seen := dateUnits, 0.0, "", 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9' || c == '.' || c == ',':
			if c == ',' {
				c = '.'
			}
			number += string(c)
		case c == 'T' && number == "" && len(units) == len(dateUnits):
			units = timeUnits
		default:
			factor, ok := units[c]
			if !ok || number == "" {
				return bad("unexpected " + strconv.Quote(string(c)))
			}
			n, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return bad(number + " is not a number")
			}
			total += n * factor
			number, seen = "", seen+1
		}
	}
	switch {
	case number != "":
		return bad("the last number has no unit")
	case seen == 0:
		return bad("no amount")
	case total > maxRuntime:
		return bad("longer than 100 years")
	}
	return total, nil
}

// FormatRuntime returns seconds as an ISO 8601 duration that ParseRuntime reads.
func FormatRuntime(seconds int64) string {
	if seconds <= 0 {
		return "PT0S"
	}
	var b strings.Builder
	b.WriteByte('P')
	if d := seconds / 86400; d > 0 {
		b.WriteString(strconv.FormatInt(d, 10) + "D")
	}
	rest := seconds % 86400
	if rest > 0 {
		b.WriteByte('T')
	}
	for _, u := range []struct {
		size   int64
		letter string
	}{{3600, "H"}, {60, "M"}, {1, "S"}} {
		if n := rest / u.size; n > 0 {
			b.WriteString(strconv.FormatInt(n, 10) + u.letter)
		}
		rest %= u.size
	}
	return b.String()
}

// Resource names a resource whose use is compared with the requirements.
type Resource string

// The resources.
const (
	ResourceMemory  Resource = "Memory"
	ResourceCPU     Resource = "CPU"
	ResourceRuntime Resource = "Runtime"
)

// RoundUp returns the amount rounded up to whole mebibytes (gibibytes above 10 GiB), CPUs
// or minutes; at least one of them.
func (r Resource) RoundUp(v float64) float64 {
	unit := 60.0
	switch r {
	case ResourceMemory:
		if unit = 1 << 20; v > 10<<30 {
			unit = 1 << 30
		}
	case ResourceCPU:
		unit = 100
	}
	return max(1, math.Ceil(v/unit-1e-9)) * unit
}
