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

// CSVAnnotation marks a command that shows a list.
const CSVAnnotation = "csv"

// WithCSV adds to the annotations of a command that it shows a list, which can
// be written as CSV.
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

// List says how items of a kind are shown.
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

// ShowAll reads items to the last page and shows them like ShowList.
func ShowAll[T any](a *Factory, l List[T], items iter.Seq2[T, error]) error {
	all, err := client.Collect(items)
	if err != nil {
		return err
	}
	return ShowList(a, l, all)
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

// TableWidth is how wide a table on the standard output may be; 0 is any.
func (a *Factory) TableWidth() int {
	if !a.StdoutTerminal {
		return 0
	}
	return a.Width()
}

// Cells makes the texts of the columns that a format has.
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

// ShowRecord writes one thing: as JSON, or as the text writes it. Its commands
// have no CSV.
func (a *Factory) ShowRecord(v any, text func(w io.Writer)) error {
	if a.Format == FormatJSON {
		return a.WriteJSON(v)
	}
	out := bufio.NewWriter(a.Stdout)
	text(out)
	return out.Flush()
}

// ShowMessage writes the outcome of a command: as a sentence, or v as JSON.
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

// Note tells the user something on standard error.
func (a *Factory) Note(format string, args ...any) {
	fmt.Fprintf(a.Stderr, format+"\n", args...)
}

// Field is a line of a record.
type Field [2]string

// WriteFields writes a record as lines of name and value, the further lines of a
// value below its first one; fields without a value are left out.
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

// OrEmpty writes an optional value; nothing for none.
func OrEmpty[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}
