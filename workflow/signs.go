package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// Signs are what is looked for in the words of failed attempts, where they ran.
type Signs struct {
	Hash       string            `json:"hash"` // of the rest
	Categories []FailureCategory `json:"categories,omitempty"`
	Stderr     []string          `json:"stderr,omitempty"` // patterns of retry rules, sorted
	// Left is how many patterns were too many: those are found only in what is kept
	// of the standard error output.
	Left int `json:"-"`
}

// MaxStderrPatterns is how many different patterns of retry rules are looked for
// in a workflow.
const MaxStderrPatterns = 500

// NewSigns collects the signs of a workflow: its categories, and the patterns of
// all policies that may apply to its jobs. Without any the hash is empty.
func NewSigns(categories []FailureCategory, policies []RetryPolicy) Signs {
	s := Signs{Categories: categories}
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
		return Signs{}
	}
	text, err := json.Marshal(s)
	if err != nil { // plain structs of strings and numbers
		panic(fmt.Sprintf("hash signs: %v", err))
	}
	sum := sha256.Sum256(text)
	s.Hash = hex.EncodeToString(sum[:8])
	return s
}

// Detector finds signs. It may be used by several goroutines.
type Detector struct {
	hash       string
	categories []compiledCategory
	stderr     []*regexp.Regexp
}

// Detector compiles the patterns. One that does not compile is an error.
func (s Signs) Detector() (*Detector, error) {
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

// Look notes in the evidence of a failed attempt what is found in the end of its
// standard error output and in the rest of the evidence. The first category that
// matches is that of the attempt. A nil detector finds nothing.
func (d *Detector) Look(e *Evidence, stderr string) {
	if d == nil {
		return
	}
	e.SignsHash = d.hash
	for _, re := range d.stderr {
		if re.MatchString(stderr) {
			e.StderrMatches = append(e.StderrMatches, re.String())
		}
	}
	d.Categorize(e, stderr)
}

// Categorize notes the category alone.
func (d *Detector) Categorize(e *Evidence, stderr string) {
	for i := range d.categories {
		c := &d.categories[i]
		if line, ok := c.matches(e, stderr); ok {
			e.Category, e.Subcategory, e.CategoryHint, e.CategoryLine = c.Category, c.Subcategory, c.Hint, line
			return
		}
	}
}
