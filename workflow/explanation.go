package workflow

import (
	"fmt"
	"strings"
	"unicode"
)

// Explanation is the answer to "why": the state in a sentence, what it rests
// on, and what happens next.
type Explanation struct {
	Subject  string               `json:"subject"` // for example: job 17 "train"
	State    string               `json:"state"`
	Sections []ExplanationSection `json:"sections,omitempty"`
	Next     string               `json:"next"`
}

// ExplanationSection is one part of what an explanation rests on.
type ExplanationSection struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

// String writes the explanation as text that ends with a newline. Names and
// messages of jobs are in it; whatever they contain, a line stays a line.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Subject, oneLine(e.State))
	for _, s := range e.Sections {
		fmt.Fprintf(&b, "\n%s\n", s.Title)
		for _, l := range s.Lines {
			fmt.Fprintf(&b, "  %s\n", oneLine(l))
		}
	}
	if e.Next != "" {
		fmt.Fprintf(&b, "\nnext: %s\n", e.Next)
	}
	return b.String()
}

// oneLine replaces what is not to be printed by spaces.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// add appends a section, unless it is empty.
func (e *Explanation) add(title string, lines ...string) {
	if len(lines) > 0 {
		e.Sections = append(e.Sections, ExplanationSection{title, lines})
	}
}

// firstFew joins names and says how many more there are.
func firstFew(names []string, total int64) string {
	const shown = 5
	names = names[:min(len(names), shown)]
	text := strings.Join(names, ", ")
	if more := total - int64(len(names)); more > 0 && text != "" {
		text += fmt.Sprintf(" and %d more", more)
	} else if more > 0 {
		text = CountOf(more, "job", "jobs")
	}
	return text
}

// agoMS is a duration between two times in milliseconds, in words.
func agoMS(fromMS, toMS int64) string { return FormatSeconds(max(0, (toMS-fromMS+500)/1000)) }
