package cli

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/internal/golden"
)

func TestWriteTable(t *testing.T) {
	rows := [][]string{
		{"1", "a", "true"},
		{"12", "name with\nnewline and \x1b[31mcolor", strings.Repeat("echo ", 30)},
		{"3", "größe 日本", ""},
	}
	var b strings.Builder
	for _, width := range []int{0, 60} {
		WriteTable(&b, []string{"ID", "Name", "Command"}, rows, width)
	}
	WriteTable(&b, []string{"ID"}, nil, 0)
	golden.Compare(t, "testdata/table.txt", b.String())
	var narrow strings.Builder
	WriteTable(&narrow, []string{"ID", "Name", "Command"}, rows, 60)
	for line := range strings.Lines(narrow.String()) {
		if n := TextWidth(strings.TrimSuffix(line, "\n")); n != 60 {
			t.Errorf("a line of width %d in a terminal of 60: %s", n, line)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"größe", 5, "größe"},
		{"größer", 5, "größ…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"e\u0301e\u0301e", 3, "e\u0301e\u0301e"}, // marks take no place
	} {
		if got := Cut(tt.text, tt.n); got != tt.want {
			t.Errorf("%q cut to %d: %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
