// Package archtest checks the rules that hold this program together: who may
// import whom, how long a file may be, and what tests must not do.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/torc-slurm/torc-slurm"

// mayImport lists, for each top-level folder, which others it may import. A
// folder that is missing here may not exist. "store" also means store/..., and
// so on. Tests may import more: the rules are about what is linked.
var mayImport = map[string][]string{
	"workflow":         {},
	"api":              {"workflow"},
	"spec":             {"workflow"},
	"store":            {"workflow", "internal"},
	"allocation":       {"internal", "sbatch-templates", "site-configs", "slurm", "store", "workflow"},
	"metricsdb":        {"internal"},
	"client":           {"api", "workflow", "internal"},
	"runner":           {"client", "api", "workflow", "metricsdb", "slurm", "internal"},
	"server":           {"api", "workflow", "store", "spec", "metricsdb", "internal", "slurm", "allocation", "scheduler", "site-configs"},
	"scheduler":        {"allocation", "internal", "site-configs", "slurm", "store", "workflow"},
	"slurm":            {"internal"},
	"sbatch-templates": {"slurm", "workflow"},
	"site-configs":     {"internal", "slurm", "workflow"},
	"internal":         {"internal", "workflow"},
	"examples":         {},
	"bench":            {"api", "client", "internal", "runner", "server", "slurm", "spec", "store", "workflow"},
	"cmd":              {"allocation", "api", "client", "examples", "internal", "metricsdb", "runner", "sbatch-templates", "scheduler", "server", "site-configs", "slurm", "spec", "store", "workflow"},
}

// onlyIn lists modules that only the named folders may import.
var onlyIn = map[string][]string{
	"github.com/mattn/go-sqlite3": {"store", "metricsdb"},
	"github.com/spf13/cobra":      {"cmd"},
	"database/sql":                {"store", "metricsdb", "bench"},
	"testing":                     {},
}

type goPackage struct {
	ImportPath   string
	Dir          string
	Imports      []string
	GoFiles      []string
	CgoFiles     []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// folder is the top-level folder of one of our import paths, or "".
func folder(importPath string) string {
	rest, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// packages lists the packages of this module, without the tools.
func packages(t *testing.T) []goPackage {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles", module+"/...")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, problem := range importProblems(p) {
			t.Error(problem)
		}
	}
}

// importProblems names each import of p that the rules do not allow.
func importProblems(p goPackage) (problems []string) {
	from := folder(p.ImportPath)
	allowed, known := mayImport[from]
	if !known {
		return []string{p.ImportPath + ": the folder has no rule in archtest"}
	}
	for _, imp := range p.Imports {
		to := folder(imp)
		switch {
		case to == "" && from == "workflow" && strings.Contains(imp, "."):
			problems = append(problems, p.ImportPath+" imports "+imp+": workflow imports only the standard library")
		case to != "" && to != from && !slices.Contains(allowed, to):
			problems = append(problems, p.ImportPath+" must not import "+imp)
		}
		if folders, ok := onlyIn[imp]; ok && !slices.Contains(folders, from) {
			problems = append(problems, p.ImportPath+" must not import "+imp)
		}
	}
	return problems
}

// TestImportProblems makes sure that the rules above can fail.
func TestImportProblems(t *testing.T) {
	for _, tc := range []struct {
		from, imp string
		bad       bool
	}{
		{"workflow", "strings", false},
		{"workflow", "golang.org/x/sys/unix", true},
		{"runner", module + "/client", false},
		{"runner", module + "/store", true},
		{"store/migration", module + "/store", false},
		{"server", "github.com/mattn/go-sqlite3", true},
		{"store", "github.com/mattn/go-sqlite3", false},
		{"client", "github.com/spf13/cobra", true},
		{"runner", "testing", true},
		{"misc", "strings", true},
	} {
		p := goPackage{ImportPath: module + "/" + tc.from, Imports: []string{tc.imp}}
		if got := importProblems(p); (len(got) > 0) != tc.bad {
			t.Errorf("%s imports %s: %q", tc.from, tc.imp, got)
		}
	}
}
