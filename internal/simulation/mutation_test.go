package simulation

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMutationsApply: the patches that measure how much the simulation finds apply to the
// present code. .ci/mutate runs them.
func TestMutationsApply(t *testing.T) {
	patches, err := filepath.Glob("testdata/mutations/*.patch")
	if err != nil || len(patches) < 30 {
		t.Fatalf("%d patches, %v", len(patches), err)
	}
	for _, path := range patches {
		patch, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		check := exec.Command("git", "apply", "--check", "--recount")
		check.Dir, check.Stdin = "../..", patch
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		patch.Close()
	}
}
