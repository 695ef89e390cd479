package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WriteTable draws a table with borders. If width is not 0, the widest columns
// are cut so that no line is longer.
func WriteTable(w io.Writer, header []string, rows [][]string, width int) {
	clean := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{header}, rows...) {
		texts := make([]string, len(row))
		for i, text := range row {
			texts[i] = Printable(text)
		}
		clean = append(clean, texts)
	}
	widths := columnWidths(clean, width)
	line := func(left, middle, right string) {
		parts := make([]string, len(widths))
		for i, n := range widths {
			parts[i] = strings.Repeat("─", n+2)
		}
		fmt.Fprintln(w, left+strings.Join(parts, middle)+right)
	}
	line("╭", "┬", "╮")
	for i, row := range clean {
		for j, text := range row {
			text = Cut(text, widths[j])
			fmt.Fprintf(w, "│ %s%s ", text, strings.Repeat(" ", widths[j]-TextWidth(text)))
		}
		fmt.Fprintln(w, "│")
		if i == 0 {
			line("├", "┼", "┤")
		}
	}
	line("╰", "┴", "╯")
}

// minColumn is the minimum width of a cut column.
const minColumn = 8

// columnWidths returns the width of each column on a terminal.
func columnWidths(rows [][]string, total int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], TextWidth(text))
		}
	}
	if total == 0 {
		return widths
	}
	sum := 3*len(widths) + 1
	for _, n := range widths {
		sum += n
	}
	for ; sum > total; sum-- {
		widest := 0
		for i, n := range widths {
			if n > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			break
		}
		widths[widest]--
	}
	return widths
}

// Printable returns a text as one line without control characters for terminals.
func Printable(text string) string {
	clean := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }
	if strings.IndexFunc(text, func(r rune) bool { return !clean(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range strings.TrimRight(text, "\n") {
		switch {
		case clean(r):
			b.WriteRune(r)
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		default:
			b.WriteRune('·')
		}
	}
	return b.String()
}
