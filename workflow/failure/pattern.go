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

// Patterns are the failure patterns that runners search for in the output of failed
// attempts.
type Patterns struct {
	Hash       string                     `json:"hash"` // of the rest
	Categories []workflow.FailureCategory `json:"categories,omitempty"`
	Stderr     []string                   `json:"stderr,omitempty"` // patterns of retry rules, sorted
	// Left is the number of patterns above the limit. They are searched for only in the
	// stored part of the standard error output.
	Left int `json:"-"`
}

// MaxStderrPatterns is the maximum number of different patterns of retry rules that runners
// search for.
const MaxStderrPatterns = 500

// NewPatterns returns the patterns of a workflow: its categories, and the patterns of all
// policies that may apply to its jobs. If there are none, the hash is empty.
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
	if err != nil { // impossible for structs of strings and numbers
		panic(fmt.Sprintf("hash failure patterns: %v", err))
	}
	sum := sha256.Sum256(text)
	s.Hash = hex.EncodeToString(sum[:8])
	return s
}

// Detector finds failure patterns. It is safe for concurrent use.
type Detector struct {
	hash       string
	categories []compiledCategory
	stderr     []*regexp.Regexp
}

// Detector returns a detector for the patterns, or an error if one does not compile.
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
		return nil, fmt.Errorf("compile the failure patterns: %w", err)
	}
	return d, nil
}

// Hash returns the hash of the patterns; "" for a nil detector.
func (d *Detector) Hash() string {
	if d == nil {
		return ""
	}
	return d.hash
}

// Match records in the evidence of a failed attempt which patterns match the end of its
// standard error output and the rest of the evidence. The attempt gets the first category
// that matches. A nil detector finds nothing.
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

// Categorize records only the category in the evidence.
func (d *Detector) Categorize(e *workflow.Evidence, stderr string) {
	for i := range d.categories {
		c := &d.categories[i]
		if line, ok := c.matches(e, stderr); ok {
			e.Category, e.Subcategory, e.CategoryHint, e.CategoryLine = c.Category, c.Subcategory, c.Hint, line
			return
		}
	}
}

// compiledCategory is a category with its compiled patterns; a nil pattern matches
// everything.
type compiledCategory struct {
	workflow.FailureCategory
	stderr, message *regexp.Regexp
}

// matches returns whether a failed attempt belongs to the category, and the line that
// matched.
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
	for _, search := range []struct {
		re   *regexp.Regexp
		text string
	}{{c.stderr, stderr}, {c.message, e.TerminationMessage}} {
		if search.re == nil {
			continue
		}
		at := search.re.FindStringIndex(search.text)
		if at == nil {
			return "", false
		}
		line = cmp.Or(line, workflow.LineAt(search.text, at[0]))
	}
	return line, true
}
