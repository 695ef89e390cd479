package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// slurmPrograms are executed only by package slurm, which limits their time, counts the
// calls and parses the output.
var slurmPrograms = []string{
	"sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo", "sacctmgr", "srun", "salloc", "sstat", "sprio", "sdiag",
}

func TestSlurmIsAskedInOnePlace(t *testing.T) { checkProduct(t, execProblems) }

// execProblems names each call in a file that executes a program of Slurm.
func execProblems(s *source) (problems []string) {
	if folder(s.in) == "slurm" {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "exec" {
			return true
		}
		for _, arg := range call.Args {
			literal, ok := arg.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && slices.Contains(slurmPrograms, filepath.Base(text)) {
				problems = append(problems, fmt.Sprintf("%s: only package slurm executes %s", s.at(n), text))
			}
		}
		return true
	})
	return problems
}

// TestExecProblems checks that the rule above can fail.
func TestExecProblems(t *testing.T) {
	for _, tc := range []struct {
		src string
		bad bool
	}{
		{"exec.Command(`bash`, `-c`, command)", false},
		{"exec.Command(name, args...)", false},
		{"exec.CommandContext(ctx, `squeue`, `-h`)", true},
		{"exec.LookPath(`/usr/bin/srun`)", true},
		{"fmt.Errorf(`sbatch`)", false},
	} {
		if got := execProblems(snippet(t, module+"/runner", "a.go", tc.src)); (len(got) > 0) != tc.bad {
			t.Errorf("%s: %q", tc.src, got)
		}
	}
}
