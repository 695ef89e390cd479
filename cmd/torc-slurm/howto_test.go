package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestHowTos runs the examples of the pages for those who come from other tools, as they are
// printed: a block with the name of a file is that file, a block `sh run` is run by bash, and the
// lines of a block `text shown` must be in the output of the block before it.
func TestHowTos(t *testing.T) {
	pages, err := filepath.Glob("../../docs/howto/coming-from-*.md")
	if err != nil || len(pages) < 6 {
		t.Fatalf("found the pages %q: %v", pages, err)
	}
	pages = append(pages, "../../docs/howto/ai-and-people.md")
	dir := t.TempDir()
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		script := scriptOf(t, filepath.Base(page), string(text))
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(page), ".md"), "-", "_")
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Setup: setUpHowTo, RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"shown": scriptShown},
	})
}

// setUpHowTo sets up a script, in which the agent claude is a fake one.
func setUpHowTo(env *testscript.Env) error {
	if err := setUpScript(env); err != nil {
		return err
	}
	dir := filepath.Join(env.Getenv("HOME"), ".config", "torc")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.toml"), []byte("[agents.claude]\ncommand = [\"fakeagent\", \"retry\"]\n"), 0o600)
}

// scriptOf returns the script of a page.
func scriptOf(t *testing.T, page, text string) string {
	t.Helper()
	var script, files strings.Builder
	runs, shown := 0, 0
	for n, block := range blocks(text) {
		switch kind, what, _ := strings.Cut(block.info, " "); {
		case block.info == "sh run":
			runs++
			fmt.Fprintf(&script, "exec bash -c 'exec bash -euo pipefail run%d.sh >output 2>&1 || { cat output; exit 1; }'\n", runs)
			fmt.Fprintf(&files, "-- run%d.sh --\n%s", runs, block.text)
		case block.info == "text shown":
			shown++
			fmt.Fprintf(&script, "shown output lines%d\n", shown)
			fmt.Fprintf(&files, "-- lines%d --\n%s", shown, block.text)
		case what != "":
			if kind != "yaml" {
				t.Errorf("%s, block %d: unknown kind %q", page, n+1, block.info)
			}
			fmt.Fprintf(&files, "-- %s --\n%s", what, block.text)
		}
	}
	if runs == 0 || shown == 0 {
		t.Errorf("%s shows nothing that is run", page)
	}
	return script.String() + "\n" + files.String()
}

// block is a fenced block of a page.
type block struct{ info, text string }

func blocks(page string) (all []block) {
	inside := false
	for line := range strings.Lines(page) {
		info, fence := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "```")
		switch {
		case fence && !inside:
			all = append(all, block{info: info})
			inside = true
		case fence:
			inside = false
		case inside:
			all[len(all)-1].text += line
		}
	}
	return all
}

// scriptShown fails unless each line of the second file is part of a line of the first one, in
// the same order: shown OUTPUT LINES.
func scriptShown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shown OUTPUT LINES")
	}
	rest := ts.ReadFile(args[0])
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		line = strings.TrimSuffix(line, "\n")
		_, after, ok := strings.Cut(rest, line)
		if !ok {
			ts.Fatalf("%q is not shown after what comes before it:\n%s", line, ts.ReadFile(args[0]))
		}
		rest = after
	}
}
