package spec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Error is an error of a file or, in a Warning, a doubtful part.
type Error struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 if the document is not from a file
	Column  int    `json:"column,omitempty"` // in characters, from 1
	Path    string `json:"path,omitempty"`   // for example jobs[3].command
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`    // how to correct it
	Excerpt string `json:"excerpt,omitempty"` // the line, without its line end

	width int // characters to underline
	more  int // further instances with the same error
}

// Error returns file:line:column, path, message and hint in one line.
func (e *Error) Error() string {
	text := e.place() + ": " + e.text()
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// place returns file:line:column, which editors and terminals recognize.
func (e *Error) place() string {
	if e.Line == 0 {
		return e.File
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Column)
}

func (e *Error) text() string {
	text := e.Message
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.more > 0 {
		text += fmt.Sprintf(" (and %d more like this)", e.more)
	}
	return text
}

// Workflow returns e as a workflow.Error.
func (e *Error) Workflow() *workflow.Error {
	return &workflow.Error{Code: workflow.CodeInvalid, Message: e.place() + ": " + e.text(), Hint: e.Hint}
}

// Render returns e on several lines, with the line in question and a caret below the place.
func (e *Error) Render() string {
	var b strings.Builder
	b.WriteString(e.place() + ": " + e.text() + "\n")
	if e.Line > 0 {
		gutter := strconv.Itoa(e.Line)
		line, column := window(e.Excerpt, e.Column)
		b.WriteString("  " + gutter + " | " + line + "\n")
		under := strings.Repeat("^", max(1, min(e.width, utf8.RuneCountInString(line)-column+1)))
		b.WriteString("  " + strings.Repeat(" ", len(gutter)) + " | " + indent(line, column) + under + "\n")
	}
	if e.Hint != "" {
		b.WriteString("  = " + e.Hint + "\n")
	}
	return b.String()
}

// window returns the part of a long line around a column.
func window(line string, column int) (string, int) {
	const width = 100
	runes := []rune(line)
	for i, r := range runes {
		if r < ' ' && r != '\t' || r == 0x7f {
			runes[i] = utf8.RuneError // a control character could garble a terminal
		}
	}
	if len(runes) <= width {
		return string(runes), column
	}
	from := min(max(0, column-1-width/2), len(runes)-width)
	return string(runes[from : from+width]), column - from
}

// indent returns the blanks before a caret. Tabs are kept, so that the caret is below its
// character.
func indent(line string, column int) string {
	var b strings.Builder
	for _, r := range line {
		if column--; column <= 0 {
			return b.String()
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String() + strings.Repeat(" ", max(0, column-1))
}

// Errors are all errors of a file, by place.
type Errors []*Error

// Error returns one line per error.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors as workflow.Errors, for their code.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e.Workflow()
	}
	return errs
}

// Render returns all errors with their excerpts, separated by empty lines.
func (es Errors) Render() string {
	blocks := make([]string, len(es))
	for i, e := range es {
		blocks[i] = e.Render()
	}
	return strings.Join(blocks, "\n")
}

// Warning is a doubtful part that does not prevent the use of a file.
type Warning struct {
	Error
	// NeedsConfirmation says that the workflow can be created but probably cannot run, such
	// as a job that fits into no allocation of its scheduler. Validation counts it as an
	// error.
	NeedsConfirmation bool `json:"needs_confirmation,omitempty"`
}
