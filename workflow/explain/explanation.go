package explain

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Explanation is the answer to "why": the state in a sentence, the facts behind it,
// and what happens next.
type Explanation struct {
	Subject  string               `json:"subject"` // for example: job 17 "train"
	State    string               `json:"state"`
	Sections []ExplanationSection `json:"sections,omitempty"`
	Next     string               `json:"next"`
}

// ExplanationSection is one group of the facts behind an explanation.
type ExplanationSection struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

// String returns the explanation as text that ends with a newline. Control
// characters and newlines in names and messages of jobs cannot break a line.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Subject, workflow.OneLine(e.State))
	for _, s := range e.Sections {
		fmt.Fprintf(&b, "\n%s\n", s.Title)
		for _, l := range s.Lines {
			fmt.Fprintf(&b, "  %s\n", workflow.OneLine(l))
		}
	}
	if e.Next != "" {
		fmt.Fprintf(&b, "\nnext: %s\n", e.Next)
	}
	return b.String()
}

// add appends a section, unless it is empty.
func (e *Explanation) add(title string, lines ...string) {
	if len(lines) > 0 {
		e.Sections = append(e.Sections, ExplanationSection{title, lines})
	}
}
