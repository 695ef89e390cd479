// Package archtest checks the rules that hold this program together: who may
// import whom, how long a file may be, and what tests must not do.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/torc-slurm/torc-slurm"

// mayImport lists, for each top-level folder, which others it may import. Only the listed
// folders may exist. "store" includes store/..., and so on. Tests may import more: the
// rules are about the linked program.
var mayImport = map[string][]string{
	"workflow":         {},
	"api":              {"workflow"},
	"spec":             {"workflow"},
	"store":            {"workflow", "internal"},
	"allocation":       {"internal", "sbatch-templates", "site-configs", "slurm", "store", "workflow"},
	"metricsdb":        {"internal"},
	"client":           {"api", "workflow", "internal"},
	"mcp":              {"api", "client", "docs", "examples", "internal", "runner", "spec", "workflow"},
	"docs":             {},
	"runner":           {"client", "api", "workflow", "metricsdb", "slurm", "internal"},
	"service":          {"allocation", "api", "sbatch-templates", "scheduler", "site-configs", "slurm", "store", "workflow"},
	"server":           {"api", "service", "workflow", "store", "spec", "metricsdb", "internal", "slurm", "allocation", "scheduler", "site-configs"},
	"scheduler":        {"allocation", "internal", "site-configs", "slurm", "store", "workflow"},
	"slurm":            {"internal", "workflow"}, // from workflow only the names of states, in failure
	"sbatch-templates": {"slurm", "workflow"},
	"site-configs":     {"internal", "slurm", "workflow"},
	"internal":         {"internal", "workflow"},
	"examples":         {},
	"bench":            {"api", "client", "internal", "runner", "scheduler", "server", "slurm", "spec", "store", "workflow"},
	"cmd":              {"allocation", "api", "client", "examples", "internal", "mcp", "metricsdb", "runner", "sbatch-templates", "scheduler", "server", "site-configs", "slurm", "spec", "store", "workflow"},
}

// roomMayImport lists, for packages within a folder, which folders and packages of this
// module they may import: all others are above them.
var roomMayImport = map[string][]string{
	"workflow/action":     {"workflow"},
	"workflow/amend":      {"workflow", "workflow/artifact", "workflow/graph"},
	"workflow/artifact":   {},
	"workflow/audit":      {},
	"workflow/compute":    {"workflow"},
	"workflow/event":      {"workflow"},
	"workflow/failure":    {"workflow", "workflow/compute"},
	"workflow/hold":       {"workflow"},
	"workflow/operate":    {"workflow"},
	"workflow/lease":      {"workflow", "workflow/failure", "workflow/placement"},
	"workflow/retry":      {"workflow", "workflow/hold", "workflow/placement"},
	"workflow/classifier": {"workflow", "workflow/hold", "workflow/proposal"},
	"workflow/explain":    {"workflow", "workflow/classifier", "workflow/compute", "workflow/hold", "workflow/placement", "workflow/retry", "workflow/stage"},
	"workflow/placement":  {"workflow"},
	"workflow/proposal":   {"workflow", "workflow/hold"},
	"workflow/logscan":    {"workflow"},
	"workflow/stage":      {"workflow", "workflow/criterion", "workflow/event", "workflow/graph"},
	"workflow/usage":      {"workflow"},
	"workflow/spawn":      {"workflow", "workflow/graph"},
	"workflow/graph":      {"workflow", "workflow/action"},
	"store/sqlite":        {"internal", "store/dbfile", "workflow"}, // from workflow its errors

	"server/rest":    {"api", "server/access", "server/connlimit", "server/jobaccess", "server/jsonbody", "server/unread", "workflow"},
	"server/apidoc":  {"api", "server/rest"},
	"server/access":  {"allocation", "internal", "store", "workflow"},
	"server/hub":     {"store"},
	"server/handler": {"allocation", "api", "scheduler", "server/access", "server/hub", "server/rest", "service", "slurm", "store", "workflow"},
	"server/torc":    {"api", "server/handler", "server/rest", "store", "workflow"},
	"store/row":      {"store/sqlite", "workflow"},
	"store/check":    {"store/row", "store/sqlite", "workflow"},
	"store/view":     {"store/row", "store/sqlite", "workflow"},
	"store/core":     {"store/row", "store/sqlite", "store/view", "workflow"},
	"store/engine":   {"store/core", "store/row", "store/sqlite", "store/view", "workflow"},
	"store/fleet":    {"store/core", "store/engine", "store/row", "store/sqlite", "store/view", "workflow"},
	"store/record":   {"store/core", "store/engine", "store/fleet", "store/row", "store/sqlite", "store/view", "workflow"},
}

// onlyIn lists modules that only the named folders may import.
var onlyIn = map[string][]string{
	"github.com/mattn/go-sqlite3": {"store", "metricsdb"},
	"github.com/spf13/cobra":      {"cmd"},

	"github.com/modelcontextprotocol/go-sdk/mcp": {"mcp", "cmd"},
	"database/sql": {"store", "metricsdb", "bench"},
	"net/http":     {"api", "bench", "client", "cmd", "internal", "runner", "server"},
	"testing":      {},

	module + "/cmd/torc-slurm/cli/clitest": {}, // only tests
	module + "/server/apidoc":              {}, // only tests

	module + "/store/view":   {"store"}, // all others use package store
	module + "/store/core":   {"store"},
	module + "/store/engine": {"store"},
	module + "/store/fleet":  {"store"},
	module + "/store/record": {"store"},
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

// folder returns the top-level folder of one of our import paths, or "".
func folder(importPath string) string {
	rest, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// packages returns the packages of this module, without the tools.
func packages(t *testing.T) []goPackage {
	t.Helper()
	list, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var listed = sync.OnceValues(func() (list []goPackage, err error) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles", module+"/...")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
})

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
		case from == "slurm" && to == "workflow" && imp != slurmWords:
			problems = append(problems, p.ImportPath+" imports "+imp+": from workflow it may import only Slurm's state names")
		case to != "" && to != from && !slices.Contains(allowed, to):
			problems = append(problems, p.ImportPath+" must not import "+imp)
		}
		if may, isRoom := roomMayImport[strings.TrimPrefix(p.ImportPath, module+"/")]; isRoom && to != "" && (to == from || !slices.Contains(may, to)) && !slices.Contains(may, strings.TrimPrefix(imp, module+"/")) {
			problems = append(problems, p.ImportPath+" must not import "+imp+", which is above it")
		}
		if folders, ok := onlyIn[imp]; ok && !slices.Contains(folders, from) {
			problems = append(problems, p.ImportPath+" must not import "+imp)
		}
	}
	return problems
}

// TestImportProblems checks that the rules above can fail.
func TestImportProblems(t *testing.T) {
	for _, tc := range []struct {
		from, imp string
		bad       bool
	}{
		{"workflow", "strings", false},
		{"workflow", "golang.org/x/sys/unix", true},
		{"runner", module + "/client", false},
		{"runner", module + "/store", true},
		{"store/sqlite/migration", module + "/store/sqlite", false},
		{"store/sqlite", module + "/store/dbfile", false},
		{"server/handler", module + "/server/rest", false},
		{"server/handler", module + "/server/torc", true},
		{"store/sqlite", module + "/store", true},
		{"store/check", module + "/store", true},
		{"store/view", module + "/store/engine", true},
		{"store/engine", module + "/store/view", false},
		{"server/handler", module + "/store/view", true},
		{"workflow/retry", module + "/workflow", false},
		{"workflow/retry", module + "/workflow/explain", true},
		{"server", "github.com/mattn/go-sqlite3", true},
		{"server", module + "/server/apidoc", true},
		{"slurm", module + "/workflow", true},
		{"slurm", slurmWords, false},
		{"store", "github.com/mattn/go-sqlite3", false},
		{"client", "github.com/spf13/cobra", true},
		{"runner", "testing", true},
		{"mcp", module + "/client", false},
		{"mcp", module + "/service", true},
		{"mcp", module + "/store", true},
		{"service", module + "/store", false},
		{"service", module + "/client", true},
		{"service", "net/http", true},
		{"service", "database/sql", true},
		{"service", "github.com/spf13/cobra", true},
		{"misc", "strings", true},
	} {
		p := goPackage{ImportPath: module + "/" + tc.from, Imports: []string{tc.imp}}
		if got := importProblems(p); (len(got) > 0) != tc.bad {
			t.Errorf("%s imports %s: %q", tc.from, tc.imp, got)
		}
	}
}
