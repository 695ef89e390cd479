// Package golden compares generated texts with files. A test run with -update writes these
// files instead.
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden and generated files instead of comparing with them")

// Updating reports whether files are written instead of compared with.
func Updating() bool { return *update }

// T is the part of testing.T that is needed.
type T interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// Compare fails a test if the contents of a file are not got.
func Compare(t T, path, got string) {
	t.Helper()
	if *update {
		if err := write(path, got); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(fmt.Errorf("%w; run the test with -update to create it", err))
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the code makes; run the test with -update and check the change (-file +code):\n%s", path, diff)
	}
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
