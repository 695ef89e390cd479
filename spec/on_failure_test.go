package spec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// compensation lists the jobs of a compensation: what they run, and after what.
func compensation(d *workflow.Definition) (lines []string) {
	for i := range d.Jobs {
		j := &d.Jobs[i]
		if j.Stage == 0 {
			continue
		}
		var after []string
		for _, k := range j.DependsOn {
			after = append(after, d.Jobs[k].Name)
		}
		lines = append(lines, fmt.Sprintf("%s: %s [%s] %s %s", j.Name, j.Command, j.Requirements, j.RunIf, strings.Join(after, " ")))
	}
	return lines
}

const compensated = `name: w
resource_requirements: [{name: big, num_cpus: 8, memory: 1g, runtime: PT1H}]
files: [{name: data, path: out/data}]
jobs:
  - {name: 'prepare_{i}', command: 'p {i}', undo: 'rm {i}', parameters: {i: '1:2'}, resource_requirements: big}
  - {name: join, command: 'join >${files.output.data}', depends_on: [prepare_1, prepare_2]}
  - {name: publish, command: publish, undo: 'unpublish ${files.input.data}', input_files: [data]}
`

func TestOnFailure(t *testing.T) {
	dir := t.TempDir()
	cleanup := "name: c\nenv: {A: all, B: all}\nresource_requirements: [{name: big, num_cpus: 2, memory: 1g, runtime: PT1H}]\nfiles: [{name: data, path: tidied}]\n" +
		"jobs:\n- {name: tidy, command: 'tidy >${files.output.data}', resource_requirements: big, env: {B: own}}\n- {name: tell, command: 'tell <${files.input.data}'}\n"
	if err := os.WriteFile(filepath.Join(dir, "cleanup.yaml"), []byte(cleanup), 0o644); err != nil {
		t.Fatal(err)
	}
	undos := []string{
		"undo/prepare_1: rm 1 [big] always undo/publish", "undo/prepare_2: rm 2 [big] always undo/publish",
		"undo/publish: unpublish out/data [] always ",
	}
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"undos alone", "", undos},
		{"jobs", "on_failure: {timeout: PT2H, max_attempts: 5, jobs: [{name: tidy, command: t, resource_requirements: big}, {name: tell, command: u, depends_on: [tidy]}]}\n",
			append([]string{"on_failure/tidy: t [big] always undo/prepare_1 undo/prepare_2", "on_failure/tell: u [] success on_failure/tidy"}, undos...)},
		{"a file", "on_failure: {workflow: cleanup.yaml}\n",
			append([]string{"on_failure/tidy: tidy >tidied [on_failure/big] always undo/prepare_1 undo/prepare_2", "on_failure/tell: tell <tidied [] success "}, undos...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Parse(filepath.Join(dir, "w.yaml"), []byte(compensated+tc.text), Options{})
			if err != nil {
				t.Fatal(rendered(err))
			}
			d := r.Definition
			if diff := cmp.Diff(tc.want, compensation(d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if stage.CompensationOf(d) != 1 || d.Stages[0].Kind != workflow.StageCompensation {
				t.Errorf("stages: %+v", d.Stages)
			}
			text, err := Expanded(d).JSON()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse("expanded.json", text, Options{})
			if err != nil {
				t.Fatal(rendered(err))
			}
			if diff := sameDefinitions(d, again.Definition); diff != "" {
				t.Errorf("-original +expanded:\n%s", diff)
			}
		})
	}
}

// TestOnFailureShares: what holds for the whole of a cleanup goes with its jobs.
func TestOnFailureShares(t *testing.T) {
	read := func(path string) ([]byte, error) {
		if filepath.Base(path) != "c.yaml" {
			return nil, fs.ErrNotExist
		}
		return []byte("name: c\nenv: {A: all, B: all}\nretry_policies: [stored]\nend: {success_if: completed > 0}\njobs: [{name: tidy, command: t, env: {B: own}}]\n"), nil
	}
	r, err := Parse("w.yaml", []byte("name: w\non_failure: {workflow: c.yaml, max_attempts: 2}\njobs: [{name: a, command: b}]\n"), Options{ReadFile: read})
	if err != nil {
		t.Fatal(rendered(err))
	}
	tidy := r.Definition.Jobs[1]
	if diff := cmp.Diff(map[string]string{"A": "all", "B": "own"}, tidy.Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if p := tidy.Policy.RetryPolicies; len(p) != 2 || p[0].Name != "stored" || *p[1].Policy.Rules[1].MaxFree != 1 {
		t.Errorf("retry policies: %+v", p)
	}
	if got := warnings(r.Warnings); len(r.Warnings) != 1 || !strings.Contains(got, "end has no effect in a compensation") {
		t.Errorf("warnings: %s", got)
	}
}
