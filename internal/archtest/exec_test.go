package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// slurmPrograms are executed by package slurm alone, which bounds their time,
// counts them and reads what they say.
var slurmPrograms = []string{
	"sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo", "sacctmgr", "srun", "salloc", "sstat", "sprio", "sdiag",
}

func TestSlurmIsAskedInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		if folder(p.ImportPath) == "slurm" {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			path := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			problems, err := execProblems(path, src)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range problems {
				t.Error(problem)
			}
		}
	}
}

// execProblems names each call in a file that executes a program of Slurm.
func execProblems(path string, src []byte) (problems []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
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
				problems = append(problems, fmt.Sprintf("%s: only package slurm executes %s", fset.Position(n.Pos()), text))
			}
		}
		return true
	})
	return problems, nil
}

// TestExecProblems makes sure that the rule above can fail.
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
		got, err := execProblems("a.go", []byte("package a\n\nvar v = "+tc.src+"\n"))
		if err != nil || (len(got) > 0) != tc.bad {
			t.Errorf("%s: %q, %v", tc.src, got, err)
		}
	}
}
