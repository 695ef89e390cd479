package daemoncmd

import (
	"os"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/dbfile"
)

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

// A process that has ended, or another one with its number, does not run.
func TestRuns(t *testing.T) {
	self := os.Getpid()
	life := dbfile.Life(int64(self))
	for name, tc := range map[string]struct {
		pid  int
		life string
		want bool
	}{
		"this one": {self, life, true}, "of unknown life": {self, "", true}, "another with its number": {self, life + "0", false}, "none": {1 << 30, "", false},
	} {
		if got := runs(tc.pid, tc.life); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
