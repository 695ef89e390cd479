package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Error is one thing that is wrong with a file, or, as a warning, doubtful.
type Error struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 if the document is not from a file
	Column  int    `json:"column,omitempty"` // in characters, from 1
	Path    string `json:"path,omitempty"`   // for example jobs[3].command
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`    // what would be right
	Excerpt string `json:"excerpt,omitempty"` // the line, without its end

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

// place is file:line:column, as editors and terminals recognise it.
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

// Workflow returns e as the error type of the domain.
func (e *Error) Workflow() *workflow.Error {
	return &workflow.Error{Code: workflow.CodeInvalid, Message: e.place() + ": " + e.text(), Hint: e.Hint}
}

// Render writes e over several lines, with the line that it is about and a
// caret below the place.
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

// window cuts a long line to the part around a column.
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

// indent is the blank text before a caret; tabs stay tabs, so that the caret
// stands below its character.
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

// Errors are all errors of a file in the order of their places.
type Errors []*Error

// Error returns one line per error.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors as errors of the domain, so that their code can be
// asked for.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e.Workflow()
	}
	return errs
}

// Render writes all errors with their excerpts, an empty line between them.
func (es Errors) Render() string {
	blocks := make([]string, len(es))
	for i, e := range es {
		blocks[i] = e.Render()
	}
	return strings.Join(blocks, "\n")
}

// Warning is something doubtful that does not keep a file from being used.
type Warning struct {
	Error
	// NeedsConfirmation says that the workflow would be created but probably
	// cannot do its work, such as a job that fits into no allocation of its
	// scheduler. A validation counts it as an error.
	NeedsConfirmation bool `json:"needs_confirmation,omitempty"`
}

// maxErrors is how many errors of one file are kept.
const maxErrors = 200

// report collects what is wrong with one file.
type report struct {
	source   source
	errors   Errors
	warnings []*Warning
	dropped  int
	seen     map[reportKey]*Error
	family   bool // what is reported is about one of many instances
}

// reportKey makes repeated messages about the same place one: a wrong line
// with a million instances is one error, whatever their names.
type reportKey struct {
	n    *node
	text string
}

func newReport(s source) *report {
	return &report{source: s, seen: map[reportKey]*Error{}}
}

// fail reports an error about the value n.
func (r *report) fail(n *node, hint, format string, args ...any) {
	r.failAt(n, n.spot(), hint, format, args...)
}

// failKey reports an error about the key of n.
func (r *report) failKey(n *node, hint, format string, args ...any) {
	r.failAt(n, n.keySpot(), hint, format, args...)
}

// repeated reports whether the same thing has been said of n already, and
// counts it.
func (r *report) repeated(n *node, format string, args ...any) bool {
	e := r.seen[r.key(n, format, args)]
	if e != nil {
		e.more++
	}
	return e != nil
}

func (r *report) key(n *node, format string, args []any) reportKey {
	if r.family {
		return reportKey{n, format}
	}
	return reportKey{n, fmt.Sprintf(format, args...)}
}

// failIn reports an error about a part of the text n.
func (r *report) failIn(n *node, part, hint, format string, args ...any) {
	r.failAt(n, r.source.find(n, part), hint, format, args...)
}

func (r *report) failAt(n *node, s spot, hint, format string, args ...any) {
	if n != nil && r.repeated(n, format, args...) {
		return
	}
	e := r.make(n, s, hint, fmt.Sprintf(format, args...))
	r.seen[r.key(n, format, args)] = e
	if len(r.errors) == maxErrors {
		r.dropped++
		return
	}
	r.errors = append(r.errors, e)
}

// warn reports something doubtful about the value n.
func (r *report) warn(n *node, hint, format string, args ...any) {
	r.addWarning(n, n.spot(), false, hint, format, args...)
}

// warnKey reports something doubtful about the key of n.
func (r *report) warnKey(n *node, hint, format string, args ...any) {
	r.addWarning(n, n.keySpot(), false, hint, format, args...)
}

// doubt reports something that a person must confirm.
func (r *report) doubt(n *node, hint, format string, args ...any) {
	r.addWarning(n, n.spot(), true, hint, format, args...)
}

func (r *report) addWarning(n *node, s spot, confirm bool, hint, format string, args ...any) {
	if n != nil && r.repeated(n, format, args...) {
		return
	}
	w := &Warning{NeedsConfirmation: confirm}
	if len(r.warnings) < maxErrors {
		w.Error = *r.make(n, s, hint, fmt.Sprintf(format, args...))
		r.warnings = append(r.warnings, w)
	}
	r.seen[r.key(n, format, args)] = &w.Error
}

func (r *report) make(n *node, s spot, hint, message string) *Error {
	e := &Error{File: r.source.name, Path: n.path(), Message: message, Hint: hint, width: s.width}
	if s.at.line > 0 {
		e.Line, e.Column, e.Excerpt = r.source.place(s.at)
	}
	return e
}

// err returns the errors in order, nil if there are none.
func (r *report) err() error {
	if len(r.errors) == 0 {
		return nil
	}
	byPlace(r.errors)
	if r.dropped > 0 {
		r.errors = append(r.errors, &Error{File: r.source.name, Message: fmt.Sprintf("%d more errors are not shown", r.dropped)})
		r.dropped = 0
	}
	return r.errors
}

func byPlace(errs []*Error) {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// spot is a place with the number of characters to underline.
type spot struct {
	at    pos
	width int
}

func (n *node) spot() spot {
	if n == nil {
		return spot{}
	}
	if n.at.line == 0 {
		return n.keySpot()
	}
	width := 1
	if n.kind <= kindString {
		width = utf8.RuneCountInString(n.text)
	}
	return spot{n.at, width}
}

func (n *node) keySpot() spot {
	switch {
	case n == nil:
		return spot{}
	case n.keyAt.line > 0:
		return spot{n.keyAt, utf8.RuneCountInString(n.key)}
	case n.at.line > 0:
		return spot{n.at, 1}
	}
	return n.parent.spot()
}

// find looks for a part of the text n in the lines where n stands; if it is
// written otherwise there, the place is that of n.
func (s source) find(n *node, part string) spot {
	const lines = 50
	whole := n.spot()
	if whole.at.line == 0 || part == "" {
		return whole
	}
	for i := range lines {
		line := s.line(int(whole.at.line) + i)
		from := 0
		if i == 0 {
			from = min(len(line), len(string([]rune(line)[:min(utf8.RuneCountInString(line), int(whole.at.col)-1)])))
		}
		if at := strings.Index(line[from:], part); at >= 0 {
			column := utf8.RuneCountInString(line[:from+at]) + 1
			return spot{pos{whole.at.line + int32(i), int32(column)}, utf8.RuneCountInString(part)}
		}
	}
	return whole
}

// source is the text of a file.
type source struct {
	name string
	text []byte
}

// place returns a place with its line. A library may count line ends that are
// none here; such a place is moved to the nearest one.
func (s source) place(at pos) (line, column int, text string) {
	line = min(int(at.line), bytes.Count(s.text, []byte("\n"))+1)
	text = s.line(line)
	return line, min(int(at.col), utf8.RuneCountInString(text)+1), text
}

// line returns a line without its end; lines count from 1.
func (s source) line(number int) string {
	rest := s.text
	for ; number > 1; number-- {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return ""
		}
		rest = rest[end+1:]
	}
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	return strings.TrimPrefix(strings.ToValidUTF8(string(bytes.TrimSuffix(text, []byte("\r"))), "\uFFFD"), "\uFEFF")
}
