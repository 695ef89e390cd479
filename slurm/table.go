package slurm

import (
	"fmt"
	"strings"
)

// fieldSeparator separates the fields of answers. Names and
// comments may contain blanks and vertical bars, but not this control character.
const fieldSeparator = "\x1f"

// table is a program's answer as rows of fields.
type table struct {
	rows    [][]string
	skipped int // rows that could not be parsed
}

// parseTable parses a header and rows of n fields each. A field that contains a
// line break continues on the next line; the last field must not contain one. The header
// proves that the program worked, the line break at the end that its answer is complete.
func parseTable(program string, out []byte, n int) (table, error) {
	text := string(out)
	if !strings.HasSuffix(text, "\n") {
		return table{}, garbled(program, "the answer is empty or truncated")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if got := strings.Count(lines[0], fieldSeparator) + 1; got != n {
		return table{}, garbled(program, fmt.Sprintf("the header of the answer has %d fields instead of %d", got, n))
	}
	var t table
	pending := ""
	for _, line := range lines[1:] {
		row := pending + line
		switch got := strings.Count(row, fieldSeparator) + 1; {
		case got < n:
			pending = row + "\n"
			continue
		case got > n:
			t.skipped++
		default:
			t.rows = append(t.rows, trimmed(strings.Split(row, fieldSeparator)))
		}
		pending = ""
	}
	if pending != "" {
		return table{}, garbled(program, "the last row of the answer is incomplete")
	}
	return t, nil
}

// trimmed removes the padding.
func trimmed(fields []string) []string {
	for i, f := range fields {
		fields[i] = strings.TrimSpace(f)
	}
	return fields
}

// reader converts fields and keeps the first error.
type reader struct{ err error }

func (r *reader) note(err error) {
	if r.err == nil && err != nil {
		r.err = err
	}
}

// parsed converts one field with a parser.
func parsed[T any](r *reader, parse func(string) (T, error), text string) T {
	v, err := parse(text)
	r.note(err)
	return v
}

// number parses a count that may be missing.
func (r *reader) number(text string) int64 {
	switch text {
	case "", "N/A", "(null)", "Unknown":
		return 0
	}
	n, err := parseNumber(text)
	r.note(err)
	return n
}

// memory parses an amount, in MiB if it has no unit.
func (r *reader) memory(text string) Memory {
	m, err := ParseMemory(text, MiB)
	r.note(err)
	return m
}

// null returns its argument; "" for Slurm's words for nothing.
func null(text string) string {
	switch text {
	case "(null)", "N/A", "n/a", "None assigned", "Unknown":
		return ""
	}
	return text
}

// atLeast parses a count that may be a range: of "2-4" the smallest.
func (r *reader) atLeast(text string) int64 {
	least, _, _ := strings.Cut(text, "-")
	return r.number(least)
}

// bytes parses an amount, in bytes if it has no unit.
func (r *reader) bytes(text string) int64 {
	m, err := ParseMemory(text, 1)
	r.note(err)
	return m.Bytes
}
