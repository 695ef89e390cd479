package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// fixedEnvironment is added to each call except sbatch: the locale, so that messages can
// be recognized, and times as seconds since 1970, which changes of the clock do not make
// ambiguous. Programs that do not know this format answer in the local zone.
var fixedEnvironment = []string{"LC_ALL=C", "LANG=C", "SLURM_TIME_FORMAT=%s"}

// localLayout is Slurm's standard format of times.
const localLayout = "2006-01-02T15:04:05"

// ParseTime parses seconds since 1970, or Slurm's standard format in the local
// zone. "Unknown", "N/A", "None" and 0 are the zero time.
func ParseTime(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	switch strings.ToUpper(text) {
	case "", "0", "UNKNOWN", "N/A", "NONE", "NOW", "INVALID", "(NULL)", "NONE ASSIGNED":
		return time.Time{}, nil
	}
	if seconds, err := parseNumber(text); err == nil && seconds < 1<<40 {
		return time.Unix(seconds, 0), nil
	}
	t, err := time.ParseInLocation(localLayout, text, time.Local)
	if err != nil {
		return time.Time{}, fmt.Errorf("invalid Slurm time %q", text)
	}
	return t, nil
}

// formatSince returns a time for sacct's -S and -E in the local format. Not all versions
// accept seconds since 1970.
func formatSince(t time.Time) string { return t.Local().Format(localLayout) }

// ExitCode is how a job or step ended: what sacct writes as 0:125.
type ExitCode struct {
	Code   int
	Signal int // 0 if none
}

// String returns the code as sacct writes it.
func (e ExitCode) String() string { return strconv.Itoa(e.Code) + ":" + strconv.Itoa(e.Signal) }

// parseExit parses CODE:SIGNAL; an empty text is 0:0.
func parseExit(text string) (ExitCode, error) {
	if text = strings.TrimSpace(text); text == "" {
		return ExitCode{}, nil
	}
	code, signal, _ := strings.Cut(text, ":")
	var e ExitCode
	var err error
	if e.Code, err = strconv.Atoi(code); err != nil {
		return ExitCode{}, fmt.Errorf("%q is not an exit code", text)
	}
	if signal != "" {
		if e.Signal, err = strconv.Atoi(signal); err != nil {
			return ExitCode{}, fmt.Errorf("%q is not an exit code", text)
		}
	}
	return e, nil
}

// parseWaitStatus parses squeue's exit_code: the status that wait(2) gives, or
// CODE:SIGNAL.
func parseWaitStatus(text string) (ExitCode, error) {
	text = null(strings.TrimSpace(text))
	if strings.Contains(text, ":") || text == "" {
		return parseExit(text)
	}
	status, err := parseNumber(text)
	if err != nil {
		return ExitCode{}, fmt.Errorf("%q is not a wait status", text)
	}
	return ExitCode{Code: int(status>>8) & 0xff, Signal: int(status) & 0x7f}, nil
}
