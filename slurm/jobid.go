package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// JobID identifies a job by its number and, for an element of a job array or a component
// of a heterogeneous job, which one it is. It is comparable; the zero value identifies no
// job.
type JobID struct {
	Number int64
	Suffix string // "", "_4" (array task), "_[1-9%2]" (pending tasks), "+0" (component)
}

// ParseJobID parses 123, 123_4, 123_[1-9%2] or 123+0.
func ParseJobID(text string) (JobID, error) {
	number, suffix := text, ""
	if i := strings.IndexAny(text, "_+"); i >= 0 {
		number, suffix = text[:i], text[i:]
	}
	n, err := parseNumber(number)
	if err != nil || n == 0 || !validSuffix(suffix) {
		return JobID{}, fmt.Errorf("%q is not a Slurm job id", text)
	}
	return JobID{Number: n, Suffix: suffix}, nil
}

func validSuffix(suffix string) bool {
	if suffix == "" {
		return true
	}
	if set, ok := strings.CutPrefix(suffix, "_["); ok {
		set, ok = strings.CutSuffix(set, "]")
		return ok && set != "" && strings.Trim(set, "0123456789,-:%.") == ""
	}
	_, err := parseNumber(suffix[1:])
	return err == nil
}

// parseNumber parses decimal digits; anything else is an error.
func parseNumber(text string) (int64, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return strconv.ParseInt(text, 10, 64)
}

// String returns the id as Slurm writes it; the zero value is "".
func (id JobID) String() string {
	if id.IsZero() {
		return ""
	}
	return strconv.FormatInt(id.Number, 10) + id.Suffix
}

// IsZero reports whether the id identifies no job.
func (id JobID) IsZero() bool { return id == JobID{} }

// MarshalText returns the same as String.
func (id JobID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses the output of MarshalText.
func (id *JobID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = JobID{}
		return nil
	}
	parsed, err := ParseJobID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// StepID identifies a job or, with Step, one of its steps.
type StepID struct {
	Job  JobID
	Step string // "" (the job itself), "batch", "extern", "interactive", "0", "1", "0+1", …
}

// ParseStepID parses 123, 123.batch, 123_4.0 or 123+1.extern.
func ParseStepID(text string) (StepID, error) {
	job, step, found := strings.Cut(text, ".")
	id, err := ParseJobID(job)
	if err != nil {
		return StepID{}, err
	}
	if found && (step == "" || strings.ContainsAny(step, " \t\n|")) {
		return StepID{}, fmt.Errorf("%q is not a Slurm step id", text)
	}
	return StepID{Job: id, Step: step}, nil
}

// String returns the id as sacct writes it.
func (id StepID) String() string {
	if id.Step == "" {
		return id.Job.String()
	}
	return id.Job.String() + "." + id.Step
}
