package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWriteTable(t *testing.T) {
	rows := [][]string{
		{"1", "a", "true"},
		{"12", "name with\nnewline and \x1b[31mcolor", strings.Repeat("echo ", 30)},
		{"3", "größe", ""},
	}
	var b strings.Builder
	for _, width := range []int{0, 60} {
		writeTable(&b, []string{"ID", "Name", "Command"}, rows, width)
	}
	writeTable(&b, []string{"ID"}, nil, 0)
	golden(t, "table.txt", b.String())
	var narrow strings.Builder
	writeTable(&narrow, []string{"ID", "Name", "Command"}, rows, 60)
	for line := range strings.Lines(narrow.String()) {
		if n := utf8.RuneCountInString(line) - 1; n != 60 {
			t.Errorf("a line of %d characters in a terminal of 60: %s", n, line)
		}
	}
}
