package workflow

import (
	"path"
	"regexp"
	"slices"
)

// RuleMatch is what a failure must be like for a rule. All that is given must
// hold; a list is "any of". Patterns are RE2 regular expressions.
type RuleMatch struct {
	Cause    []CauseKind    `json:"cause,omitempty"`     // exit, oom, walltime and so on
	ExitCode *ExitCodeMatch `json:"exit_code,omitempty"` // the return code of the attempt
	Signal   []int64        `json:"signal,omitempty"`    // numbers
	// Stderr is looked for in the last 64 KiB of the standard error output.
	Stderr string `json:"stderr,omitempty"`
	// TerminationMessage is looked for in what the job wrote to $TORC_TERMINATION_FILE.
	TerminationMessage string   `json:"termination_message,omitempty"`
	Category           []string `json:"category,omitempty"`    // of the failure
	Subcategory        []string `json:"subcategory,omitempty"` // of the failure
	Node               []string `json:"node,omitempty"`        // names, with * and ? for any characters
	// Attempt bounds the number of the attempt that failed, from 1.
	Attempt *AttemptMatch `json:"attempt,omitempty"`
	Elapsed *ElapsedMatch `json:"elapsed,omitempty"` // how long it ran
	// Component is main by default.
	// Recovery is about recovery scripts that failed.
	Component Component `json:"component,omitempty" jsonschema:"enum=main,enum=recovery"`
	// ByDrain says of walltime whether our own drain cut the attempt.
	ByDrain *bool `json:"by_drain,omitempty"`
	// OfCommand says of launch whether the command is at fault, not the node.
	OfCommand *bool `json:"of_command,omitempty"`
}

// ExitCodeMatch is about the return code of the attempt: its exit code, 128 + n
// if signal n ended it, or what its cause sets. 0 never matches.
type ExitCodeMatch struct {
	In    []int64 `json:"in,omitempty"`     // one of these
	NotIn []int64 `json:"not_in,omitempty"` // none of these, and not 0
}

// AttemptMatch bounds the number of an attempt.
type AttemptMatch struct {
	GTE *int64 `json:"gte,omitempty" jsonschema:"minimum=1"` // at least
	LTE *int64 `json:"lte,omitempty" jsonschema:"minimum=1"` // at most
}

// ElapsedMatch bounds how long an attempt ran.
type ElapsedMatch struct {
	GTE string `json:"gte,omitempty"` // at least
	LT  string `json:"lt,omitempty"`  // less than
}

// component is the part of a job that m is about.
func (m *RuleMatch) component() Component {
	if m.Component == "" {
		return ComponentMain
	}
	return m.Component
}

// matches reports whether a failure of the given attempt is what m is about.
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

// Contains reports whether an exit code matches: any does if m is nil, and 0 does not
// otherwise.
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
	return m == nil || (m.GTE == "" || f.Elapsed >= parsed(m.GTE, 0)) && (m.LT == "" || f.Elapsed < parsed(m.LT, 0))
}

// MatchesStderr takes the word of the runner, which has seen more of the text,
// and looks at what came with the report otherwise.
func MatchesStderr(pattern string, e *Evidence) bool {
	return pattern == "" || slices.Contains(e.StderrMatches, pattern) || matchesText(pattern, e.StderrTail)
}

func matchesText(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	re, err := regexp.Compile(pattern) // validated where it came in
	return err == nil && re.MatchString(text)
}

func matchesName(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil && name != ""
}

// isEmpty says that m is about every failure of a command.
func (m *RuleMatch) isEmpty() bool {
	return m.Cause == nil && m.ExitCode == nil && m.Signal == nil && m.Stderr == "" && m.TerminationMessage == "" &&
		m.Category == nil && m.Subcategory == nil && m.Node == nil && m.Attempt == nil && m.Elapsed == nil &&
		m.Component == "" && m.ByDrain == nil && m.OfCommand == nil
}
