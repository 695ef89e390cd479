package examples_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/spec"
)

// jobs is how many jobs each example has after expansion.
var jobs = map[string]int{
	"outbreak/workflow.yaml": 138,
	"diamond.yaml":           4,
	"sweep.yaml":             5 + 8 + 5 + 1,
	"retries.yaml":           6,
	"policies.yaml":          6,
	"classify.yaml":          4,
	"end.yaml":               14,
	"subworkflow.yaml":       17,
	"undo.yaml":              4 + 3 + 1,
	"priorities.yaml":        4,
	"stdio.yaml":             6,
	"dynamic.yaml":           1,
	"formats.json5":          4,
	"formats.kdl":            4,
}

func TestExamplesAreValid(t *testing.T) {
	found := map[string]int{}
	for _, pattern := range []string{"*.yaml", "*.json5", "*.kdl", "*.json", "*/workflow.*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			result, err := spec.Load(path, spec.Options{User: "somebody", Dir: filepath.Dir(path)})
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			for _, w := range result.Warnings {
				t.Errorf("%s: warning: %v", path, w)
			}
			found[path] = len(result.Definition.Jobs)
		}
	}
	if diff := cmp.Diff(jobs, found); diff != "" {
		t.Errorf("jobs of the examples (-want +got):\n%s", diff)
	}
}

// TestFormatsAgree compares two files with the same specification in two formats.
func TestFormatsAgree(t *testing.T) {
	var definitions []any
	for _, path := range []string{"formats.json5", "formats.kdl"} {
		result, err := spec.Load(path, spec.Options{User: "somebody"})
		if err != nil {
			t.Fatal(err)
		}
		definitions = append(definitions, result.Definition)
	}
	if diff := cmp.Diff(definitions[0], definitions[1]); diff != "" {
		t.Errorf("json5 and kdl differ:\n%s", diff)
	}
}

var fence = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestDocumentedSpecsAreValid loads each piece of YAML in the pages for users that is a
// whole specification, that is, has a name.
func TestDocumentedSpecsAreValid(t *testing.T) {
	pages, err := filepath.Glob("../docs/howto/*.md")
	if err != nil {
		t.Fatal(err)
	}
	specs := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains("\n"+m[1], "\nname: ") {
				continue
			}
			specs++
			if _, err := spec.Parse(page+".yaml", []byte(m[1]), spec.Options{User: "somebody"}); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if specs < 3 {
		t.Errorf("found only %d specifications", specs)
	}
}
