package failure

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Patterns are what is looked for in the words of failed attempts, where they ran.
type Patterns struct {
	Hash       string                     `json:"hash"` // of the rest
	Categories []workflow.FailureCategory `json:"categories,omitempty"`
	Stderr     []string                   `json:"stderr,omitempty"` // patterns of retry rules, sorted
	// Left is how many patterns were too many: those are found only in what is kept
	// of the standard error output.
	Left int `json:"-"`
}

// MaxStderrPatterns is how many different patterns of retry rules are looked for
// in a workflow.
const MaxStderrPatterns = 500

// NewPatterns collects the patterns of a workflow: its categories, and the patterns of
// all policies that may apply to its jobs. Without any the hash is empty.
func NewPatterns(categories []workflow.FailureCategory, policies []workflow.RetryPolicy) Patterns {
	s := Patterns{Categories: categories}
	for i := range policies {
		for k := range policies[i].Rules {
			if pattern := policies[i].Rules[k].When.Stderr; pattern != "" {
				s.Stderr = append(s.Stderr, pattern)
			}
		}
	}
	slices.Sort(s.Stderr)
	s.Stderr = slices.Compact(s.Stderr)
	if s.Left = max(0, len(s.Stderr)-MaxStderrPatterns); s.Left > 0 {
		s.Stderr = s.Stderr[:MaxStderrPatterns]
	}
	if len(s.Categories)+len(s.Stderr) == 0 {
		return Patterns{}
	}
	text, err := json.Marshal(s)
	if err != nil { // plain structs of strings and numbers
		panic(fmt.Sprintf("hash failure patterns: %v", err))
	}
	sum := sha256.Sum256(text)
	s.Hash = hex.EncodeToString(sum[:8])
	return s
}

// Detector finds failure patterns. It may be used by several goroutines.
type Detector struct {
	hash       string
	categories []compiledCategory
	stderr     []*regexp.Regexp
}

// Detector compiles the patterns. One that does not compile is an error.
func (s Patterns) Detector() (*Detector, error) {
	d := &Detector{hash: s.Hash}
	var err error
	compile := func(pattern string) (re *regexp.Regexp) {
		if pattern != "" && err == nil {
			re, err = regexp.Compile(pattern)
		}
		return re
	}
	for _, c := range s.Categories {
		d.categories = append(d.categories, compiledCategory{c, compile(c.When.Stderr), compile(c.When.TerminationMessage)})
	}
	for _, pattern := range s.Stderr {
		d.stderr = append(d.stderr, compile(pattern))
	}
	if err != nil {
		return nil, fmt.Errorf("read what to look for in the words of failed attempts: %w", err)
	}
	return d, nil
}

// Hash tells what is looked for apart from what another detector looks for.
func (d *Detector) Hash() string {
	if d == nil {
		return ""
	}
	return d.hash
}

// Match notes in the evidence of a failed attempt what is found in the end of its
// standard error output and in the rest of the evidence. The first category that
// matches is that of the attempt. A nil detector finds nothing.
func (d *Detector) Match(e *workflow.Evidence, stderr string) {
	if d == nil {
		return
	}
	e.PatternsHash = d.hash
	for _, re := range d.stderr {
		if re.MatchString(stderr) {
			e.StderrMatches = append(e.StderrMatches, re.String())
		}
	}
	d.Categorize(e, stderr)
}

// Categorize notes the category alone.
func (d *Detector) Categorize(e *workflow.Evidence, stderr string) {
	for i := range d.categories {
		c := &d.categories[i]
		if line, ok := c.matches(e, stderr); ok {
			e.Category, e.Subcategory, e.CategoryHint, e.CategoryLine = c.Category, c.Subcategory, c.Hint, line
			return
		}
	}
}

// compiledCategory is a category with its patterns; nil ones match everything.
type compiledCategory struct {
	workflow.FailureCategory
	stderr, message *regexp.Regexp
}

// matches reports whether a failed attempt is of the category, and by which line.
func (c *compiledCategory) matches(e *workflow.Evidence, stderr string) (line string, ok bool) {
	m := &c.When
	code := int64(0)
	switch {
	case e.ExitCode != nil:
		code = *e.ExitCode
	case e.Signal != 0:
		code = 128 + int64(e.Signal)
	}
	if !m.ExitCode.Contains(code) ||
		m.Signal != nil && !slices.Contains(m.Signal, int64(e.Signal)) ||
		m.Errno != nil && !slices.Contains(m.Errno, int64(e.SpawnErrno)) {
		return "", false
	}
	for _, look := range []struct {
		re   *regexp.Regexp
		text string
	}{{c.stderr, stderr}, {c.message, e.TerminationMessage}} {
		if look.re == nil {
			continue
		}
		at := look.re.FindStringIndex(look.text)
		if at == nil {
			return "", false
		}
		line = cmp.Or(line, workflow.LineAt(look.text, at[0]))
	}
	return line, true
}
