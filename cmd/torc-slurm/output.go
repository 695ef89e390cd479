package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/internal/terminal"
)

// The output formats.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatCSV   = "csv"
)

// csvAnnotation marks a command that shows a list.
const csvAnnotation = "csv"

// withCSV adds to the annotations of a command that it shows a list, which can
// be written as CSV.
func withCSV(annotations map[string]string) map[string]string {
	annotations[csvAnnotation] = "yes"
	return annotations
}

// column is a column of a list.
type column[T any] struct {
	title string
	cell  func(T) string
	// only, if not empty, is the format (table or csv) that has the column.
	only string
}

// list says how items of a kind are shown.
type list[T any] struct {
	things  string // for the total below the table: jobs
	columns []column[T]
}

// showList writes items as a table with a total, as {"items": [...]} or as CSV.
func showList[T any](a *app, l list[T], items []T) error {
	if a.format == formatJSON {
		if items == nil {
			items = []T{}
		}
		return a.writeJSON(struct {
			Items []T `json:"items"`
		}{items})
	}
	header, rows := l.cells(a.format, items)
	out := bufio.NewWriter(a.Stdout)
	if a.format == formatCSV {
		for _, row := range rows {
			for i, text := range row {
				row[i] = csvCell(text)
			}
		}
		w := csv.NewWriter(out)
		if err := w.WriteAll(append([][]string{header}, rows...)); err != nil {
			return err
		}
		return out.Flush()
	}
	writeTable(out, header, rows, a.tableWidth())
	fmt.Fprintf(out, "Total: %d %s\n", len(items), l.things)
	return out.Flush()
}

// signedNumber is what may begin with a sign in a cell.
var signedNumber = regexp.MustCompile(`^[+-][0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// csvCell is a text as a cell that no spreadsheet takes for a formula: names,
// commands and messages may come from others. Without an apostrophe before it, a cell
// like =HYPERLINK(…) would be carried out where the list is opened (OWASP, CSV
// injection). Control characters but newlines are written as escapes.
func csvCell(text string) string {
	escaped := terminal.Escape(text)
	switch first, _ := utf8.DecodeRuneInString(text); first {
	case '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠':
		if text != "-" && !signedNumber.MatchString(text) {
			return "'" + escaped
		}
	}
	return escaped
}

// tableWidth is how wide a table on the standard output may be; 0 is any.
func (a *app) tableWidth() int {
	if !a.StdoutTerminal {
		return 0
	}
	return a.Width()
}

// cells makes the texts of the columns that a format has.
func (l list[T]) cells(format string, items []T) (header []string, rows [][]string) {
	var shown []column[T]
	for _, c := range l.columns {
		if c.only == "" || c.only == format {
			shown = append(shown, c)
			header = append(header, c.title)
		}
	}
	for _, item := range items {
		row := make([]string, len(shown))
		for i, c := range shown {
			row[i] = c.cell(item)
		}
		rows = append(rows, row)
	}
	return header, rows
}

// showRecord writes one thing: as JSON, or as the text writes it. Its commands
// have no CSV.
func (a *app) showRecord(v any, text func(w io.Writer)) error {
	if a.format == formatJSON {
		return a.writeJSON(v)
	}
	out := bufio.NewWriter(a.Stdout)
	text(out)
	return out.Flush()
}

// showMessage writes the outcome of a command: as a sentence, or v as JSON.
func (a *app) showMessage(v any, format string, args ...any) error {
	if a.format == formatJSON {
		return a.writeJSON(v)
	}
	_, err := fmt.Fprintf(a.Stdout, format+"\n", args...)
	return err
}

// writeJSON writes v, indented, on standard output.
func (a *app) writeJSON(v any) error {
	out := bufio.NewWriter(a.Stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return out.Flush()
}

// note tells the user something on standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.Stderr, format+"\n", args...)
}

// field is a line of a record.
type field struct {
	name  string
	value string
}

// writeFields writes a record as lines of name and value, the further lines of a
// value below its first one; fields without a value are left out.
func writeFields(w io.Writer, fields ...field) {
	width := 0
	for _, f := range fields {
		if f.value != "" {
			width = max(width, len(f.name))
		}
	}
	for _, f := range fields {
		if f.value == "" {
			continue
		}
		name := f.name + ":"
		for line := range strings.Lines(f.value) {
			fmt.Fprintf(w, "%-*s  %s\n", width+1, name, printable(line))
			name = ""
		}
	}
}

// orEmpty writes an optional value; nothing for none.
func orEmpty[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}
