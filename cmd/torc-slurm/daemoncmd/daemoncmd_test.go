package daemoncmd

import "testing"

func TestLastLines(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""},
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"a\nb\nc", 1, "c"},
		{"a\n\n", 1, "\n"},
		{"a\nb\n", 0, ""},
		{"a", 0, ""},
	} {
		if got := string(lastLines([]byte(tt.text), tt.n)); got != tt.want {
			t.Errorf("the last %d lines of %q are %q, want %q", tt.n, tt.text, got, tt.want)
		}
	}
}

func TestZombieStat(t *testing.T) {
	for text, want := range map[string]bool{
		"12 (torc-slurm) S 1 2": false, "12 (torc-slurm) Z 1 2": true, "12 (a) Z) R 1": false, "12 (a) b) Z 1": true, "": false, "12": false,
	} {
		if got := zombieStat(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
