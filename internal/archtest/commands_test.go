package archtest

import (
	"slices"
	"strings"
	"testing"
)

// commands is the folder of the command line: one package per noun.
const commands = module + "/cmd/torc-slurm/"

// commandHelpers are the packages that the nouns share, from the bottom up: each may
// import those before it. Every other package in the folder is a noun.
var commandHelpers = []string{"setting", "cli", "apidata", "outputdir", "specfile", "sites", "runstart", "allocate", "daemonlink", "jobgateway", "schedulergen", "logfile", "dryrun", "amendment"}

// TestCommandImports checks that no noun's commands import those of another.
func TestCommandImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, problem := range commandImportProblems(p) {
			t.Error(problem)
		}
	}
}

// commandImportProblems names each package of commands that p must not import.
func commandImportProblems(p goPackage) (problems []string) {
	name, isCommand := strings.CutPrefix(p.ImportPath, commands)
	if !isCommand {
		return nil
	}
	below := commandHelpers
	if at := slices.Index(commandHelpers, name); at >= 0 {
		below = commandHelpers[:at]
	}
	for _, imp := range p.Imports {
		if to, ok := strings.CutPrefix(imp, commands); ok && !slices.Contains(below, to) {
			problems = append(problems, p.ImportPath+" must not import "+imp+": what both need belongs to a package of commandHelpers")
		}
	}
	return problems
}

// TestCommandImportProblems checks that the rule above can fail.
func TestCommandImportProblems(t *testing.T) {
	for _, tc := range []struct {
		from, imp string
		bad       bool
	}{
		{commands + "events", commands + "cli", false},
		{commands + "events", commands + "files", true},
		{commands + "cli", commands + "setting", false},
		{commands + "cli", commands + "apidata", true},
		{commands + "apidata", commands + "events", true},
		{strings.TrimSuffix(commands, "/"), commands + "events", false},
	} {
		p := goPackage{ImportPath: tc.from, Imports: []string{tc.imp}}
		if got := commandImportProblems(p); (len(got) > 0) != tc.bad {
			t.Errorf("%s imports %s: %q", tc.from, tc.imp, got)
		}
	}
}
