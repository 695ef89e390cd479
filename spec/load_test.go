package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// load reads a specification that must be without errors.
func load(t *testing.T, path string) *Result {
	t.Helper()
	r, err := Load(path, Options{User: "me"})
	if err != nil {
		t.Fatalf("%s:\n%s", path, rendered(err))
	}
	return r
}

// parseText reads a YAML text that must be without errors.
func parseText(t *testing.T, text string) *Result {
	t.Helper()
	r, err := Parse("test.yaml", []byte(text), Options{User: "me"})
	if err != nil {
		t.Fatal(rendered(err))
	}
	return r
}

func rendered(err error) string {
	if errs, ok := err.(Errors); ok {
		return errs.Render()
	}
	return err.Error()
}

// sameDefinitions compares two definitions; JSON in them by its meaning.
func sameDefinitions(a, b *workflow.Definition) string {
	return cmp.Diff(a, b, cmp.Comparer(func(x, y json.RawMessage) bool {
		if len(x) == 0 || len(y) == 0 {
			return len(x) == len(y)
		}
		var v, w any
		return json.Unmarshal(x, &v) == nil && json.Unmarshal(y, &w) == nil && cmp.Equal(v, w)
	}))
}

func TestGoodFilesAreTheSameInEachFormat(t *testing.T) {
	want := load(t, "testdata/good/everything.yaml")
	for _, ext := range []string{"json", "json5", "kdl"} {
		got := load(t, "testdata/good/everything."+ext)
		if diff := sameDefinitions(want.Definition, got.Definition); diff != "" {
			t.Errorf("%s (-yaml +%s):\n%s", ext, ext, diff)
		}
		if string(got.Format) != ext {
			t.Errorf("format %s, want %s", got.Format, ext)
		}
	}
}

// TestKDLDependsOnJob: existing specifications in KDL name dependencies so.
func TestKDLDependsOnJob(t *testing.T) {
	const text = "name \"w\"\njob \"a\" { command \"x\"; }\njob \"b\" { command \"x\"; }\n" +
		"job \"c\" { command \"x\"; depends_on_job \"a\"\n  depends_on_job \"b\"; }\n"
	r, err := Parse("w.kdl", []byte(text), Options{})
	if err != nil {
		t.Fatal(rendered(err))
	}
	if diff := cmp.Diff([]int32{0, 1}, r.Definition.Jobs[2].DependsOn); diff != "" {
		t.Error(diff)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Error.Error(), "w.kdl:4:24: jobs[2].depends_on: depends_on_job is read as depends_on (write depends_on)") {
		t.Errorf("%d warnings: %v", len(r.Warnings), r.Warnings[0].Error.Error())
	}
}

// TestDefinition compares the definitions of the good files, and what is
// doubtful about them, with golden files.
func TestDefinition(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no good files", err)
	}
	for _, file := range files {
		r := load(t, file)
		r.Definition.SubmissionDirectory = "DIR"
		text, err := json.MarshalIndent(wholeDefinition(r.Definition), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".golden", string(text)+"\n"+warnings(r.Warnings))
	}
}

// wholeDefinition is a definition with its lists, which travel beside it.
func wholeDefinition(d *workflow.Definition) any {
	return struct {
		*workflow.Definition
		Files           []workflow.FileDefinition           `json:"files,omitempty"`
		UserData        []workflow.UserDataDefinition       `json:"user_data,omitempty"`
		Requirements    []workflow.ResourceRequirements     `json:"resource_requirements,omitempty"`
		FailureHandlers []workflow.FailureHandlerDefinition `json:"failure_handlers,omitempty"`
		SlurmSchedulers []workflow.SlurmSchedulerDefinition `json:"slurm_schedulers,omitempty"`
		Stages          []workflow.StageDefinition          `json:"stages,omitempty"`
		Jobs            []workflow.JobDefinition            `json:"jobs,omitempty"`
		Actions         []workflow.ActionDefinition         `json:"actions,omitempty"`
	}{d, d.Files, d.UserData, d.Requirements, d.FailureHandlers, d.SlurmSchedulers, d.Stages, d.Jobs, d.Actions}
}

func warnings(ws []*Warning) string {
	var b strings.Builder
	for _, w := range ws {
		b.WriteString("\nwarning: " + w.Render())
	}
	return b.String()
}

// TestExpandedIsAFixpoint: the expanded document says the same as the original.
func TestExpandedIsAFixpoint(t *testing.T) {
	for _, r := range []*Result{load(t, "testdata/good/everything.yaml"), load(t, "testdata/good/parts/train.yaml")} {
		text, err := Expanded(r.Definition).JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("expanded.json", text, Options{User: "me"})
		if err != nil {
			t.Fatal(rendered(err))
		}
		if diff := sameDefinitions(r.Definition, again.Definition); diff != "" {
			t.Errorf("-original +expanded:\n%s", diff)
		}
	}
}

func TestStdinFindsTheFormat(t *testing.T) {
	want := load(t, "testdata/good/everything.yaml").Definition
	for _, format := range []Format{YAML, JSON, JSON5, KDL} {
		f, err := os.Open("testdata/good/everything." + string(format))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Load("-", Options{User: "me", Stdin: f})
		f.Close()
		if err != nil {
			t.Fatal(rendered(err))
		}
		if r.Format != format {
			t.Errorf("found %s, want %s", r.Format, format)
		}
		if diff := sameDefinitions(want, r.Definition); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

func TestByteOrderMarkIsSkipped(t *testing.T) {
	for _, format := range []Format{YAML, JSON, JSON5, KDL} {
		data, err := os.ReadFile("testdata/good/everything." + string(format))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("x."+string(format), append([]byte("\uFEFF"), data...), Options{}); err != nil {
			t.Errorf("%s: %s", format, rendered(err))
		}
	}
}

func TestLoadRefusesWhatIsNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		path  string
		stdin string
		code  workflow.Code
	}{
		"no file":     {"testdata/none.yaml", "", workflow.CodeNotFound},
		"a folder":    {"testdata", "", workflow.CodeInvalid},
		"empty stdin": {"-", "", workflow.CodeInvalid},
	} {
		_, err := Load(c.path, Options{Stdin: strings.NewReader(c.stdin)})
		if got := workflow.CodeOf(err); got != c.code {
			t.Errorf("%s: %v has the code %s, want %s", name, err, got, c.code)
		}
	}
	if _, err := Load("-", Options{}); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("no stdin: %v", err)
	}
}

// An attempt is not ended before its time, which its runner has in whole seconds.
func TestRunTimeoutsAreRoundedUp(t *testing.T) {
	r, err := Parse("w.yaml", []byte("name: w\njobs: [{name: a, command: x, timeouts: {run: {after: 1500ms, grace: PT0.5S}}}]\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	j := r.Definition.Jobs[0]
	if want := (workflow.RunTimeout{AfterSeconds: 2, GraceSeconds: 1}); j.RunTimeout == nil || *j.RunTimeout != want || j.Policy != nil {
		t.Errorf("%+v, policy %+v", j.RunTimeout, j.Policy)
	}
}
