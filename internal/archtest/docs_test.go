package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// link matches the target of a Markdown link that is not a URL: a file, a file with
// an anchor, or an anchor on the same page.
var link = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]+))?\)`)

// root is the root of the repository.
const root = "../.."

// TestLinks checks that every link leads to a file that exists, and to a heading in it.
func TestLinks(t *testing.T) {
	pages := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "torc_output" || d.Name() == "results" || d.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := path
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(path), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
				continue
			}
			if m[2] == "" {
				continue
			}
			page, err := os.ReadFile(target)
			if err != nil {
				return err
			}
			if !slices.Contains(anchors(string(page)), m[2]) {
				t.Errorf("%s links to %s#%s, and there is no such heading", path, m[1], m[2])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 5 {
		t.Errorf("found only %d pages", pages)
	}
}

// anchors returns the anchors of a page's headings.
func anchors(page string) (all []string) {
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if code || !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ', r == '\t':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title)))
	}
	return all
}

// Parts of a row of "Where each decision lives" in ARCHITECTURE.md: a file or folder, and
// the functions in it.
var (
	decisionFile = regexp.MustCompile("`([a-z_-]+(?:/[a-z_*-]+)+(?:\\.go)?)`")
	decisionFunc = regexp.MustCompile("`(?:[A-Za-z]+\\.)?([A-Za-z]+)`")
	impure       = regexp.MustCompile(`\btime\.(Now|Since|Until)\(|\brand\.|\bos\.|\bsql\.`)
)

// TestDecisionsLiveThere checks that the decisions that ARCHITECTURE.md lists are where
// it says, and that those that it calls pure are.
func TestDecisionsLiveThere(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Where each decision lives\n")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no such section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows, pure := 0, true
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			if strings.HasPrefix(line, "These decisions depend on") {
				pure = false
			}
			continue
		}
		files := decisionFile.FindAllStringSubmatch(cells[2], -1)
		if len(files) == 0 {
			continue // the header of a table
		}
		rows++
		var code strings.Builder
		for i, m := range files {
			found, err := filepath.Glob(filepath.Join(root, m[1]))
			if err != nil || len(found) == 0 {
				t.Errorf("%s: %s does not exist", cells[1], m[1])
			}
			if filepath.Ext(m[1]) == "" {
				continue
			}
			for _, path := range found {
				source, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				code.Write(source)
				if i == 0 && pure && impure.Match(source) {
					t.Errorf("%s: %s is not pure: %s", cells[1], m[1], impure.Find(source))
				}
			}
		}
		for _, m := range decisionFunc.FindAllStringSubmatch(cells[2], -1) {
			declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )` + m[1] + `\b`)
			if !declared.MatchString(code.String()) {
				t.Errorf("%s: %s is not declared there", cells[1], m[1])
			}
		}
	}
	if rows < 25 {
		t.Errorf("found only %d rows", rows)
	}
}

// TestDecisionIndex checks that the index of decisions lists each of them.
func TestDecisionIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs/adr/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/adr/[0-9]*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no decisions found: %v", err)
	}
	for _, page := range pages {
		if !strings.Contains(string(index), "("+filepath.Base(page)+")") {
			t.Errorf("%s is not in the index", page)
		}
	}
}

// TestCausesAreExplained checks that users can look up each cause.
func TestCausesAreExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/howto/failures-and-retries.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cause := range workflow.CauseKinds() {
		if !strings.Contains(string(page), "`"+string(cause)+"`") {
			t.Errorf("failures-and-retries.md does not mention the cause %s", cause)
		}
	}
}
