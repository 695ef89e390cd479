package workflow

import (
	"path"
	"regexp"
	"slices"
)

// RuleMatch says which failures a rule applies to. All keys that are given must match; of
// a list, one entry must. Patterns are RE2 regular expressions.
type RuleMatch struct {
	Cause    []CauseKind    `json:"cause,omitempty"`     // exit, oom, walltime and so on
	ExitCode *ExitCodeMatch `json:"exit_code,omitempty"` // the return code of the attempt
	Signal   []int64        `json:"signal,omitempty"`    // numbers
	// Stderr is a pattern for the last 64 KiB of the standard error output.
	Stderr string `json:"stderr,omitempty"`
	// TerminationMessage is a pattern for what the job wrote to $TORC_TERMINATION_FILE.
	TerminationMessage string   `json:"termination_message,omitempty"`
	Category           []string `json:"category,omitempty"`    // of the failure
	Subcategory        []string `json:"subcategory,omitempty"` // of the failure
	Node               []string `json:"node,omitempty"`        // names, with the wildcards * and ?
	// Attempt limits the number of the attempt that failed, from 1.
	Attempt *AttemptMatch `json:"attempt,omitempty"`
	Elapsed *ElapsedMatch `json:"elapsed,omitempty"` // how long it ran
	// Component is main (the command of the job, the default) or recovery (failed recovery
	// scripts).
	Component Component `json:"component,omitempty" jsonschema:"enum=main,enum=recovery"`
	// ByDrain says, for the cause walltime, whether our own drain ended the attempt.
	ByDrain *bool `json:"by_drain,omitempty"`
	// OfCommand says, for the cause launch, whether the command caused the failure, not the
	// node.
	OfCommand *bool `json:"of_command,omitempty"`
}

// ExitCodeMatch matches the return code of the attempt: its exit code, 128 + n if signal n
// ended it, or the code that its cause sets. 0 never matches.
type ExitCodeMatch struct {
	In    []int64 `json:"in,omitempty"`     // one of these
	NotIn []int64 `json:"not_in,omitempty"` // none of these, and not 0
}

// AttemptMatch limits the number of an attempt.
type AttemptMatch struct {
	GTE *int64 `json:"gte,omitempty" jsonschema:"minimum=1"` // at least
	LTE *int64 `json:"lte,omitempty" jsonschema:"minimum=1"` // at most
}

// ElapsedMatch limits how long an attempt ran.
type ElapsedMatch struct {
	GTE string `json:"gte,omitempty"` // at least
	LT  string `json:"lt,omitempty"`  // less than
}

// component returns the part of a job that m applies to.
func (m *RuleMatch) component() Component {
	if m.Component == "" {
		return ComponentMain
	}
	return m.Component
}

// matches reports whether m matches the failure of an attempt.
func (m *RuleMatch) matches(f *Failure, attempt int64) bool {
	failed := f.Component
	if failed == "" {
		failed = ComponentMain
	}
	return m.component() == failed &&
		(m.Cause == nil || slices.Contains(m.Cause, f.Cause.Kind)) &&
		m.ExitCode.matches(f) &&
		(m.Signal == nil || f.Evidence.Signal != 0 && slices.Contains(m.Signal, int64(f.Evidence.Signal))) &&
		MatchesStderr(m.Stderr, &f.Evidence) &&
		matchesText(m.TerminationMessage, f.Evidence.TerminationMessage) &&
		(m.Category == nil || slices.Contains(m.Category, f.Evidence.Category) && f.Evidence.Category != "") &&
		(m.Subcategory == nil || slices.Contains(m.Subcategory, f.Evidence.Subcategory) && f.Evidence.Subcategory != "") &&
		(m.Node == nil || slices.ContainsFunc(m.Node, func(glob string) bool { return matchesName(glob, f.Node) })) &&
		m.Attempt.matches(attempt) &&
		m.Elapsed.matches(f) &&
		(m.ByDrain == nil || *m.ByDrain == f.Cause.ByDrain) &&
		(m.OfCommand == nil || *m.OfCommand == f.Cause.OfCommand)
}

func (m *ExitCodeMatch) matches(f *Failure) bool {
	return m.Contains(f.Cause.ReturnCode)
}

// Contains reports whether an exit code matches. If m is nil, every code does; otherwise 0
// never does.
func (m *ExitCodeMatch) Contains(code int64) bool {
	switch {
	case m == nil:
		return true
	case code == 0:
		return false
	case m.In != nil:
		return slices.Contains(m.In, code)
	}
	return !slices.Contains(m.NotIn, code)
}

func (m *AttemptMatch) matches(attempt int64) bool {
	return m == nil || (m.GTE == nil || attempt >= *m.GTE) && (m.LTE == nil || attempt <= *m.LTE)
}

func (m *ElapsedMatch) matches(f *Failure) bool {
	return m == nil || (m.GTE == "" || f.Elapsed >= durationOr(m.GTE, 0)) && (m.LT == "" || f.Elapsed < durationOr(m.LT, 0))
}

// MatchesStderr reports whether a pattern matches the standard error output: the runner,
// which has more of the output, found it, or it matches the part in the report. An empty
// pattern always matches.
func MatchesStderr(pattern string, e *Evidence) bool {
	return pattern == "" || slices.Contains(e.StderrMatches, pattern) || matchesText(pattern, e.StderrTail)
}

func matchesText(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	re, err := regexp.Compile(pattern) // validated when it was stored
	return err == nil && re.MatchString(text)
}

func matchesName(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil && name != ""
}

// isEmpty reports whether m matches every failure of a command.
func (m *RuleMatch) isEmpty() bool {
	return m.Cause == nil && m.ExitCode == nil && m.Signal == nil && m.Stderr == "" && m.TerminationMessage == "" &&
		m.Category == nil && m.Subcategory == nil && m.Node == nil && m.Attempt == nil && m.Elapsed == nil &&
		m.Component == "" && m.ByDrain == nil && m.OfCommand == nil
}
