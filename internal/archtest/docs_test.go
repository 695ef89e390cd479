package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// link matches the target of a Markdown link that is neither a URL nor an
// anchor on the same page.
var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)\s]*)?\)`)

// root is the top of the repository.
const root = "../.."

// TestLinks makes sure that no page links to a file that is not there.
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
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
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

// TestDecisionIndex makes sure that the index of decisions lists each of them.
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

// TestCausesAreExplained makes sure that users can look up each cause.
func TestCausesAreExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/howto/failures-and-retries.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cause := range workflow.CauseKinds() {
		if !strings.Contains(string(page), "`"+string(cause)+"`") {
			t.Errorf("failures-and-retries.md says nothing of the cause %s", cause)
		}
	}
}
