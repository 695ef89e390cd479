package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// FailureCategory names failures by what the user knows of them. The first
// category of a workflow whose match holds is that of a failed attempt.
type FailureCategory struct {
	Category    string        `json:"category"`              // at most 63 characters
	Subcategory string        `json:"subcategory,omitempty"` // at most 63 characters
	When        CategoryMatch `json:"when"`                  // what an attempt must be like
	Hint        string        `json:"hint,omitempty"`        // what a person should know or do
}

// CategoryMatch is what a failed attempt must be like for a category. All that is
// given must hold; a list is "any of". Patterns are RE2 regular expressions.
type CategoryMatch struct {
	// Stderr is looked for in the last 64 KiB of the standard error output.
	Stderr string `json:"stderr,omitempty"`
	// TerminationMessage is looked for in what the job wrote to
	// $TORC_TERMINATION_FILE, at most 4 KiB.
	TerminationMessage string         `json:"termination_message,omitempty"`
	ExitCode           *ExitCodeMatch `json:"exit_code,omitempty"` // 128 + n if signal n ended it
	Signal             []int64        `json:"signal,omitempty"`    // numbers
	Errno              []int64        `json:"errno,omitempty"`     // of an attempt that could not be started
}

func (m *CategoryMatch) isEmpty() bool {
	return m.Stderr == "" && m.TerminationMessage == "" && m.ExitCode == nil && m.Signal == nil && m.Errno == nil
}

// How much a workflow may look for.
const (
	maxCategories   = 100
	maxCategoryHint = 500 // bytes
	// CategoryTextSize is how much of the end of the standard error output is
	// looked at, in bytes.
	CategoryTextSize = 64 << 10
)

// categories checks failure categories.
func (p *problems) categories(at string, list []FailureCategory) {
	if len(list) > maxCategories {
		p.add(at, "join patterns by |", "%d categories are too many, at most %d are taken", len(list), maxCategories)
	}
	for i := range list {
		c, at := &list[i], fmt.Sprintf("%s[%d]", at, i)
		p.categoryName(at+".category", c.Category)
		if c.Subcategory != "" {
			p.categoryName(at+".subcategory", c.Subcategory)
		}
		if len(c.Hint) > maxCategoryHint {
			p.add(at+".hint", "say it in fewer words", "a hint of %d bytes is too long, at most %d are taken", len(c.Hint), maxCategoryHint)
		}
		if c.When.isEmpty() {
			p.add(at+".when", "write for example stderr: 'NVRM: Xid'", "nothing is looked for: every failure would be of this category")
		}
		c.When.validate(p, at+".when")
	}
}

func (p *problems) categoryName(at, name string) {
	if !policyName.MatchString(name) {
		p.add(at, "letters, digits, '.', '_' and '-', at most 63, a letter or digit in front", "%q is no name for a category", name)
	}
}

func (m *CategoryMatch) validate(p *problems, at string) {
	p.pattern(at+".stderr", m.Stderr)
	p.pattern(at+".termination_message", m.TerminationMessage)
	m.ExitCode.validate(p, at+".exit_code")
	for i, n := range m.Signal {
		if n < 1 || n > 64 {
			p.add(fmt.Sprintf("%s.signal[%d]", at, i), "write its number, for example 9", "there is no signal %d", n)
		}
	}
	for i, n := range m.Errno {
		if n < 1 || n > 4095 {
			p.add(fmt.Sprintf("%s.errno[%d]", at, i), "write its number, for example 12 for ENOMEM", "there is no error number %d", n)
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
		hint += "; there are " + strings.Join(names, ", ")
	}
	p.add(at, hint, "there is no category %q", name)
}

// LineAt is the line of a text at an offset, cut to what is read at a glance.
func LineAt(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return Glance(line)
}
