// Package faults has tests that break a real Slurm cluster, its programs, the daemon,
// runners and jobs while workflows run. Afterwards they check that everything was done
// once and is accounted for, and that nothing is left. The tests use the program as its
// users do. docs/faults.md describes the results.
package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// maxParallel is the number of tests that run at a time: they mostly wait.
const maxParallel = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if !isSet("test.parallel") {
		if err := flag.Set("test.parallel", maxParallel); err != nil {
			panic(err)
		}
	}
	status := m.Run()
	os.RemoveAll(programDir)
	os.Exit(status)
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// programDir holds the program; TestMain removes it.
var programDir string

// program builds the program once, where the cluster's user can run it.
func program(t *testing.T, real *slurmtest.Real) string {
	t.Helper()
	path, err := build(real.State)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = func() func(state string) (string, error) {
	var once sync.Once
	var path string
	var failure error
	return func(state string) (string, error) {
		once.Do(func() { path, failure = buildIn(filepath.Join(state, "home")) })
		return path, failure
	}
}()

func buildIn(home string) (path string, err error) {
	if programDir, err = os.MkdirTemp(home, "program-"); err != nil {
		return "", err
	}
	if err := os.Chmod(programDir, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(programDir, "torc-slurm")
	out, err := exec.Command("go", "build", "-o", path, "github.com/torc-slurm/torc-slurm/cmd/torc-slurm").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}
