package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/terminal"
)

// The output formats.
const (
	FormatTable = "table"
	FormatJSON  = "json"
	FormatCSV   = "csv"
)

// CSVAnnotation marks a command that shows a list, which can be written as CSV.
const CSVAnnotation = "csv"

// WithCSV adds CSVAnnotation to the annotations of a command and returns them.
func WithCSV(annotations map[string]string) map[string]string {
	annotations[CSVAnnotation] = "yes"
	return annotations
}

// Column is a column of a list.
type Column[T any] struct {
	Title string
	Cell  func(T) string
	// Only, if not empty, is the format (table or csv) that has the column.
	Only string
}

// List describes how items are shown.
type List[T any] struct {
	Things  string // for the total below the table: jobs
	Columns []Column[T]
}

// ShowList writes items as a table with a total, as {"items": [...]} or as CSV.
func ShowList[T any](a *Factory, l List[T], items []T) error {
	if a.Format == FormatJSON {
		if items == nil {
			items = []T{}
		}
		return a.WriteJSON(struct {
			Items []T `json:"items"`
		}{items})
	}
	header, rows := l.Cells(a.Format, items)
	out := bufio.NewWriter(a.Stdout)
	if a.Format == FormatCSV {
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
	WriteTable(out, header, rows, a.TableWidth())
	fmt.Fprintf(out, "Total: %d %s\n", len(items), l.Things)
	return out.Flush()
}

// ShowAll reads all items and shows them like ShowList. It returns the first error.
func ShowAll[T any](a *Factory, l List[T], items iter.Seq2[T, error]) error {
	all, err := client.Collect(items)
	if err != nil {
		return err
	}
	return ShowList(a, l, all)
}

// signedNumber matches a cell that may begin with a sign.
var signedNumber = regexp.MustCompile(`^[+-][0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// csvCell returns a text as a cell that no spreadsheet evaluates as a formula, since names,
// commands and messages may come from other users. Without an apostrophe before it, a cell
// like =HYPERLINK(…) is evaluated when the list is opened (OWASP, CSV injection). Control
// characters except newlines are escaped.
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

// TableWidth returns the maximum width of a table on the standard output; 0 for no limit.
func (a *Factory) TableWidth() int {
	if !a.StdoutTerminal {
		return 0
	}
	return a.Width()
}

// Cells returns the titles and cells of the columns that a format has.
func (l List[T]) Cells(format string, items []T) (header []string, rows [][]string) {
	var shown []Column[T]
	for _, c := range l.Columns {
		if c.Only == "" || c.Only == format {
			shown = append(shown, c)
			header = append(header, c.Title)
		}
	}
	for _, item := range items {
		row := make([]string, len(shown))
		for i, c := range shown {
			row[i] = c.Cell(item)
		}
		rows = append(rows, row)
	}
	return header, rows
}

// ShowRecord writes a single thing: as JSON, or with text. There is no CSV for it.
func (a *Factory) ShowRecord(v any, text func(w io.Writer)) error {
	if a.Format == FormatJSON {
		return a.WriteJSON(v)
	}
	out := bufio.NewWriter(a.Stdout)
	text(out)
	return out.Flush()
}

// ShowMessage writes the outcome of a command: v as JSON, or a sentence.
func (a *Factory) ShowMessage(v any, format string, args ...any) error {
	if a.Format == FormatJSON {
		return a.WriteJSON(v)
	}
	_, err := fmt.Fprintf(a.Stdout, format+"\n", args...)
	return err
}

// WriteJSON writes v, indented, on standard output.
func (a *Factory) WriteJSON(v any) error {
	out := bufio.NewWriter(a.Stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return out.Flush()
}

// Note writes a line for the user on standard error.
func (a *Factory) Note(format string, args ...any) {
	fmt.Fprintf(a.Stderr, format+"\n", args...)
}

// Field is a line of a record.
type Field [2]string

// WriteFields writes a record as lines of name and value. Further lines of a value are
// aligned with the first; fields without a value are left out.
func WriteFields(w io.Writer, fields ...Field) {
	width := 0
	for _, f := range fields {
		if f[1] != "" {
			width = max(width, len(f[0]))
		}
	}
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		name := f[0] + ":"
		for line := range strings.Lines(f[1]) {
			fmt.Fprintf(w, "%-*s  %s\n", width+1, name, Printable(line))
			name = ""
		}
	}
}

// OrEmpty formats an optional value; empty for nil.
func OrEmpty[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}
