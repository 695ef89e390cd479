package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// FailureCategory is a class of failures that the user defines. A failed attempt belongs
// to the first category of its workflow that matches.
type FailureCategory struct {
	Category    string        `json:"category"`              // at most 63 characters
	Subcategory string        `json:"subcategory,omitempty"` // at most 63 characters
	When        CategoryMatch `json:"when"`                  // which attempts belong to it
	Hint        string        `json:"hint,omitempty"`        // what users should know or do
}

// CategoryMatch says which failed attempts belong to a category. All keys that are given
// must match; of a list, one entry must. Patterns are RE2 regular expressions.
type CategoryMatch struct {
	// Stderr is a pattern for the last 64 KiB of the standard error output.
	Stderr string `json:"stderr,omitempty"`
	// TerminationMessage is a pattern for what the job wrote to $TORC_TERMINATION_FILE,
	// at most 4 KiB.
	TerminationMessage string         `json:"termination_message,omitempty"`
	ExitCode           *ExitCodeMatch `json:"exit_code,omitempty"` // 128 + n if signal n ended it
	Signal             []int64        `json:"signal,omitempty"`    // numbers
	Errno              []int64        `json:"errno,omitempty"`     // of an attempt that could not be started
}

func (m *CategoryMatch) isEmpty() bool {
	return m.Stderr == "" && m.TerminationMessage == "" && m.ExitCode == nil && m.Signal == nil && m.Errno == nil
}

// Limits of failure categories.
const (
	maxCategories   = 100
	maxCategoryHint = 500 // bytes
	// CategoryTextSize is how many bytes of the end of the standard error output are
	// searched.
	CategoryTextSize = 64 << 10
)

// categories checks failure categories.
func (p *problems) categories(at string, list []FailureCategory) {
	if len(list) > maxCategories {
		p.add(at, "combine patterns with |", "too many categories: %d, the limit is %d", len(list), maxCategories)
	}
	for i := range list {
		c, at := &list[i], fmt.Sprintf("%s[%d]", at, i)
		p.categoryName(at+".category", c.Category)
		if c.Subcategory != "" {
			p.categoryName(at+".subcategory", c.Subcategory)
		}
		if len(c.Hint) > maxCategoryHint {
			p.add(at+".hint", "shorten it", "the hint has %d bytes, the limit is %d", len(c.Hint), maxCategoryHint)
		}
		if c.When.isEmpty() {
			p.add(at+".when", "write for example stderr: 'NVRM: Xid'", "no condition is given: every failure would be of this category")
		}
		c.When.validate(p, at+".when")
	}
}

func (p *problems) categoryName(at, name string) {
	if !policyName.MatchString(name) {
		p.add(at, nameHint, "invalid name %q of a category", name)
	}
}

func (m *CategoryMatch) validate(p *problems, at string) {
	p.pattern(at+".stderr", m.Stderr)
	p.pattern(at+".termination_message", m.TerminationMessage)
	m.ExitCode.validate(p, at+".exit_code")
	for i, n := range m.Signal {
		if n < 1 || n > 64 {
			p.add(fmt.Sprintf("%s.signal[%d]", at, i), "write its number, for example 9", "unknown signal %d", n)
		}
	}
	for i, n := range m.Errno {
		if n < 1 || n > 4095 {
			p.add(fmt.Sprintf("%s.errno[%d]", at, i), "write its number, for example 12 for ENOMEM", "unknown error number %d", n)
		}
	}
	notEmpty(p, at+".signal", m.Signal)
	notEmpty(p, at+".errno", m.Errno)
}

// knownCategory checks a reference to a category of the workflow.
func (p *problems) knownCategory(at, name string, known []FailureCategory) {
	if slices.ContainsFunc(known, func(c FailureCategory) bool { return c.Category == name }) {
		return
	}
	var names []string
	for i := range known {
		if !slices.Contains(names, known[i].Category) {
			names = append(names, known[i].Category)
		}
	}
	hint := "write it under failure_categories"
	if len(names) > 0 {
		hint += "; the categories are " + strings.Join(names, ", ")
	}
	p.add(at, hint, "unknown category %q", name)
}

// LineAt returns the line of a text at an offset, shortened for display.
func LineAt(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return ShortLine(line)
}
