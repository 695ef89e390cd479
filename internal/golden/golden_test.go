package golden

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// recorder records what a test would report.
type recorder struct{ said []string }

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func TestCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "file.txt")
	if err := write(path, "one\ntwo\n"); err != nil {
		t.Fatal(err)
	}
	var r recorder
	if Compare(&r, path, "one\ntwo\n"); len(r.said) > 0 {
		t.Errorf("the same text: %q", r.said)
	}
	if Compare(&r, path, "one\nthree\n"); len(r.said) != 1 || !strings.Contains(r.said[0], "three") {
		t.Errorf("another text: %q", r.said)
	}
}
