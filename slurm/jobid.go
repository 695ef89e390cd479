package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// JobID names a job: its number and, for an element of a job array or a
// component of a heterogeneous job, which one. It is comparable; the zero value
// names none.
type JobID struct {
	Number int64
	Suffix string // "", "_4" (array task), "_[1-9%2]" (tasks that wait together), "+0" (component)
}

// ParseJobID reads 123, 123_4, 123_[1-9%2] or 123+0.
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

// parseNumber reads decimal digits, and nothing but digits.
func parseNumber(text string) (int64, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return strconv.ParseInt(text, 10, 64)
}

// String writes the id as Slurm does; the zero value is "".
func (id JobID) String() string {
	if id.IsZero() {
		return ""
	}
	return strconv.FormatInt(id.Number, 10) + id.Suffix
}

// IsZero tells whether the id names no job.
func (id JobID) IsZero() bool { return id == JobID{} }

// Task is the index in a job array.
func (id JobID) Task() (int64, bool) { return id.index('_') }

// Component is the offset in a heterogeneous job.
func (id JobID) Component() (int64, bool) { return id.index('+') }

func (id JobID) index(kind byte) (int64, bool) {
	if id.Suffix == "" || id.Suffix[0] != kind {
		return 0, false
	}
	n, err := parseNumber(id.Suffix[1:])
	return n, err == nil
}

// MarshalText writes the id as String does.
func (id JobID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
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

// StepID names a job, or with Step one of its steps.
type StepID struct {
	Job  JobID
	Step string // "" (the job itself), "batch", "extern", "interactive", "0", "1", "0+1", …
}

// ParseStepID reads 123, 123.batch, 123_4.0 or 123+1.extern.
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

// String writes the id as sacct does.
func (id StepID) String() string {
	if id.Step == "" {
		return id.Job.String()
	}
	return id.Job.String() + "." + id.Step
}
