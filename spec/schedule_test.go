package spec

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestScheduleKeepsTheRest: a specification that is scheduled otherwise and
// written in another format is the same workflow in all else.
func TestScheduleKeepsTheRest(t *testing.T) {
	files, err := filepath.Glob("testdata/good/everything.*")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../examples/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Concat(files, examples) {
		if formatOf(path) == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		opts := Options{User: "me", Dir: filepath.Dir(path)}
		want, err := Parse(path, data, opts)
		if err != nil {
			t.Fatal(rendered(err))
		}
		reschedule(want.Definition)
		for _, to := range []Format{YAML, JSON} {
			text, err := Schedule(path, data, to, Scheduling{
				Schedulers: []*SlurmScheduler{{Name: "x", Account: "y"}},
				Actions:    []*Action{{TriggerType: "on_workflow_start", ActionType: "schedule_nodes", Scheduler: "x", SchedulerType: "slurm", StartOneWorkerPerNode: true}},
				Jobs:       make([]string, want.Summary.JobCountBeforeExpansion),
			})
			if err != nil {
				t.Fatal(path, err)
			}
			got, err := Parse(filepath.Join(filepath.Dir(path), "again."+string(to)), text, opts)
			if err != nil {
				t.Fatalf("%s as %s: %s\n%s", path, to, rendered(err), text)
			}
			if diff := sameDefinitions(want.Definition, got.Definition); diff != "" {
				t.Errorf("%s as %s -want +got:\n%s", path, to, diff)
			}
		}
	}
}

// reschedule makes of a definition what is to be expected.
func reschedule(d *workflow.Definition) {
	d.SlurmSchedulers = []workflow.SlurmSchedulerDefinition{{Name: "x", Account: "y", Nodes: 1, Walltime: defaultWalltime}}
	d.Actions = slices.DeleteFunc(d.Actions, func(a workflow.ActionDefinition) bool { return a.ActionType == "schedule_nodes" })
	d.Actions = append(d.Actions, workflow.ActionDefinition{
		TriggerType: "on_workflow_start", ActionType: "schedule_nodes", Scheduler: "x", SchedulerType: "slurm", NumAllocations: 1, StartOneWorkerPerNode: true,
	})
	for i := range d.Jobs {
		d.Jobs[i].Scheduler = ""
	}
}

func TestSchedule(t *testing.T) {
	const text = `# a sweep
name: s
jobs:
  # the work
  - name: a_{i}
    command: echo 010 # not a number
    parameters: {i: '1:3'}
  - {name: b, command: 'yes', scheduler: old, depends_on_regexes: ['^a_']}
  - name: c
    command: "c"
actions:
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: [date]}
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: old, scheduler_type: slurm}
slurm_schedulers:
  - {name: old, account: x}
`
	two := int64(2)
	got, err := Schedule("s.yaml", []byte(text), YAML, Scheduling{
		Schedulers: []*SlurmScheduler{{Name: "new", Account: "p", Mem: "010"}},
		Actions:    []*Action{{TriggerType: "on_jobs_ready", ActionType: "schedule_nodes", Jobs: []string{"a_1"}, Scheduler: "new", SchedulerType: "slurm", NumAllocations: &two}},
		Jobs:       []string{"new", "", "new"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `# a sweep
name: s
jobs:
  # the work
  - name: a_{i}
    command: echo 010 # not a number
    parameters: {i: '1:3'}
    scheduler: new
  - {name: b, command: 'yes', depends_on_regexes: ['^a_']}
  - name: c
    command: "c"
    scheduler: new
actions:
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: [date]}
  - trigger_type: on_jobs_ready
    action_type: schedule_nodes
    jobs:
      - a_1
    scheduler: new
    scheduler_type: slurm
    num_allocations: 2
slurm_schedulers:
  - name: new
    account: p
    mem: "010"
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := Schedule("s.yaml", []byte(text), KDL, Scheduling{}); err == nil {
		t.Error("KDL was written")
	}
	if _, err := Schedule("s.json", []byte("[]"), JSON, Scheduling{}); err == nil {
		t.Error("a list was scheduled")
	}
}

func TestFamilies(t *testing.T) {
	r := parseText(t, strings.ReplaceAll(`{name: s, jobs: [
	{name: 'a_{i}', command: x, parameters: {i: '1:3'}}, {name: 'none_{i}', command: x, parameters: {i: '[]'}}, {name: b, command: x}]}`, "\t", " "))
	if diff := cmp.Diff([]JobFamily{{Item: 0, First: 0}, {Item: 2, First: 3}}, r.Families); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOutputFormat(t *testing.T) {
	for _, tc := range []struct {
		path        string
		input, want Format
	}{
		{"", YAML, YAML}, {"", JSON5, JSON}, {"", KDL, KDL}, {"x.yml", JSON, YAML}, {"x.json5", YAML, JSON}, {"x.txt", YAML, JSON}, {"x.kdl", YAML, KDL},
	} {
		if got := OutputFormat(tc.path, tc.input); got != tc.want {
			t.Errorf("%q from %s: got %s, want %s", tc.path, tc.input, got, tc.want)
		}
	}
}
