package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// define creates a workflow from a definition in one chunk.
func (n *nouns) define(d *workflow.Definition) int64 {
	n.t.Helper()
	w, err := n.Workflows.BeginDefinition(n.ctx, d, "")
	n.must(err)
	n.must(w.Add(d))
	id, err := w.Finish(n.ctx, int64(len(d.Jobs)), int64(len(d.Files)))
	n.must(err)
	return id
}

// chain is a definition of jobs that each depend on the previous one.
func chain(jobs int) *workflow.Definition {
	d := &workflow.Definition{Name: "chain", User: "me"}
	for i := range jobs {
		j := workflow.JobDefinition{Name: fmt.Sprintf("job_%06d", i), Command: fmt.Sprintf("bash work.sh %d", i)}
		if i > 0 {
			j.DependsOn = []int32{int32(i - 1)}
		}
		d.Jobs = append(d.Jobs, j)
	}
	return d
}

// everything uses every part of a definition; job 0 depends on a later one.
func everything() *workflow.Definition {
	return &workflow.Definition{
		Name: "everything", User: "me", Env: map[string]string{"A": "1", "B": "2"}, SubmissionDirectory: "/home/me",
		Files:    []workflow.FileDefinition{{Name: "in", Path: "in.txt", ModTime: new(1.5)}, {Name: "out", Path: "out.txt", Identifier: "doi:1"}},
		UserData: []workflow.UserDataDefinition{{Name: "d", IsEphemeral: true, Data: json.RawMessage(`{"x": 1}`)}},
		Requirements: []workflow.ResourceRequirements{
			{Name: "big", NumCPUs: 4, NumGPUs: 1, NumNodes: 2, Memory: "8g", Runtime: "PT2H"}},
		FailureHandlers: []workflow.FailureHandlerDefinition{{Name: "h", Rules: []workflow.FailureRule{{ExitCodes: []int64{7}, MaxRetries: 4}}}},
		SlurmSchedulers: []workflow.SlurmSchedulerDefinition{{Name: "s", Account: "acct", Nodes: 1, Walltime: "01:00:00"}},
		Jobs: []workflow.JobDefinition{
			{Name: "last", Command: "true", DependsOn: []int32{1, 2}, InputFiles: []int32{1}},
			{Name: "first", Command: "work", JobSettings: workflow.JobSettings{InvocationScript: new("wrap.sh")}, Env: map[string]string{"B": "3"}, Priority: 5, Labels: []string{"y", "x"},
				Requirements: "big", FailureHandler: "h", Scheduler: "s", RunIf: workflow.RunIfAlways, JobOptions: workflow.JobOptions{Stdio: &workflow.StdioConfig{Mode: workflow.StdioNone}, RunTimeout: &workflow.RunTimeout{AfterSeconds: 60, GraceSeconds: 5}}, InputFiles: []int32{0}, OutputFiles: []int32{1}, OutputUserData: []int32{0}},
			{Name: "second", Command: "true", Requirements: "default", DependsOn: []int32{1}, InputUserData: []int32{0}},
		},
		Actions: []workflow.ActionDefinition{
			{TriggerType: action.TriggerJobsReady, ActionType: action.ScheduleNodes, Jobs: []int32{2, 1}, Scheduler: "s", SchedulerType: "slurm", NumAllocations: 3},
			{TriggerType: action.TriggerWorkflowStart, ActionType: action.RunCommands, Commands: []string{"echo hi"}, Persistent: true},
		},
	}
}

func TestDefinitionIsStoredAsGiven(t *testing.T) {
	n := newNouns(t)
	id := n.define(everything())
	jobs, _, err := n.Jobs.List(n.ctx, JobFilter{WorkflowID: id, WithRelations: true}, sqlite.Page{Limit: 10})
	n.must(err)
	if len(jobs) != 3 {
		t.Fatalf("%d jobs", len(jobs))
	}
	base := jobs[0].ID
	files, _, err := n.Files.List(n.ctx, FileFilter{WorkflowID: id}, sqlite.Page{Limit: 10})
	n.must(err)
	data, _, err := n.UserData.List(n.ctx, UserDataFilter{WorkflowID: id}, sqlite.Page{Limit: 10})
	n.must(err)
	in, out, datum := []int64{files[0].ID}, []int64{files[1].ID}, []int64{data[0].ID}
	requirements, _, err := n.Requirements.List(n.ctx, RequirementsFilter{WorkflowID: id}, sqlite.Page{Limit: 10})
	n.must(err)
	schedulers, _, err := n.SlurmSchedulers.List(n.ctx, id, sqlite.Page{Limit: 10})
	n.must(err)
	handlers, _, err := n.FailureHandlers.List(n.ctx, id, sqlite.Page{Limit: 10})
	n.must(err)
	want := []workflow.Job{
		{ID: base, WorkflowID: id, Name: "last", Command: "true", Env: map[string]string{"A": "1", "B": "2"}, AttemptID: 1,
			DependsOn: []int64{base + 1, base + 2}, InputFiles: out, ResourceRequirementsID: &requirements[0].ID},
		{ID: base + 1, WorkflowID: id, Name: "first", Command: "work", JobSettings: workflow.JobSettings{InvocationScript: new("wrap.sh")}, Env: map[string]string{"A": "1", "B": "3"}, AttemptID: 1,
			RunIf: workflow.RunIfAlways, Priority: 5, Labels: []string{"x", "y"}, ResourceRequirementsID: &requirements[1].ID, FailureHandlerID: &handlers[0].ID, SchedulerID: &schedulers[0].ID,
			JobOptions: workflow.JobOptions{Stdio: &workflow.StdioConfig{Mode: workflow.StdioNone}, RunTimeout: &workflow.RunTimeout{AfterSeconds: 60, GraceSeconds: 5}},
			InputFiles: in, OutputFiles: out, OutputUserData: datum},
		{ID: base + 2, WorkflowID: id, Name: "second", Command: "true", Env: map[string]string{"A": "1", "B": "2"}, AttemptID: 1,
			DependsOn: []int64{base + 1}, InputUserData: datum, ResourceRequirementsID: &requirements[0].ID},
	}
	if diff := cmp.Diff(want, jobs, cmpopts.IgnoreFields(workflow.JobState{}, "GateID")); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	actions, err := n.Actions.List(n.ctx, id)
	n.must(err)
	config := fmt.Sprintf(`{"num_allocations":3,"scheduler_id":%d,"scheduler_type":"slurm","start_one_worker_per_node":false}`, schedulers[0].ID)
	if a := actions[0]; string(a.Config) != config || a.RequiredTriggers != 2 || !slices.Equal(a.JobIDs, []int64{base + 1, base + 2}) {
		t.Errorf("action %+v with config %s", a, a.Config)
	}
	if a := actions[1]; string(a.Config) != `{"commands":["echo hi"]}` || a.RequiredTriggers != 1 || !a.Persistent || a.JobIDs != nil {
		t.Errorf("action %+v with config %s", a, a.Config)
	}
}

// A gate may have more dependencies than one statement inserts.
func TestDefinitionWithABarrier(t *testing.T) {
	n := newNouns(t)
	const width = 3 * sqlite.BulkRows
	d := &workflow.Definition{Name: "barrier", User: "me"}
	var all []int32
	for i := range int32(width) {
		d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: fmt.Sprintf("a%d", i), Command: "true"})
		all = append(all, i)
	}
	for i := range width {
		d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: fmt.Sprintf("b%d", i), Command: "true", DependsOn: all})
	}
	id := n.define(d)
	var gates, edges int
	n.must(n.db.Read.QueryRow(`SELECT COUNT(DISTINCT gate_id), COUNT(*) FROM gate_dependency
		WHERE gate_id IN (SELECT id FROM gate WHERE workflow_id = ?)`, id).Scan(&gates, &edges))
	if gates != 1 || edges != width {
		t.Errorf("%d gates with %d dependencies, want 1 with %d", gates, edges, width)
	}
}

// compensated puts jobs into a compensation, and has the third undo another one.
func compensated(d *workflow.Definition, undone int32, jobs ...int) {
	d.Stages = []workflow.StageDefinition{{Kind: workflow.StageCompensation, Name: "s"}}
	for _, i := range jobs {
		d.Jobs[i].Stage, d.Jobs[i].DependsOn, d.Jobs[i].InputFiles, d.Jobs[i].OutputFiles = 1, nil, nil, nil
	}
	d.Jobs[2].Undoes = undone
}

func TestDefinitionRefusals(t *testing.T) {
	n := newNouns(t)
	for _, tc := range []struct {
		name   string
		change func(*workflow.Definition)
		want   string
	}{
		{"job of no number", func(d *workflow.Definition) { d.Jobs[0].DependsOn = []int32{1, 9} }, "job number 9"},
		{"negative number", func(d *workflow.Definition) { d.Jobs[0].DependsOn = []int32{-1} }, "job number -1"},
		{"file of no number", func(d *workflow.Definition) { d.Jobs[0].InputFiles = []int32{2} }, "file number 2 does not exist"},
		{"unknown requirements", func(d *workflow.Definition) { d.Jobs[0].Requirements = "small" }, `unknown resource requirements "small"`},
		{"unknown handler", func(d *workflow.Definition) { d.Jobs[0].FailureHandler = "x" }, `unknown failure handler "x"`},
		{"unknown scheduler", func(d *workflow.Definition) { d.Jobs[0].Scheduler = "x" }, `unknown scheduler "x"`},
		{"unknown scheduler of an action", func(d *workflow.Definition) { d.Actions[0].Scheduler = "x" }, `unknown scheduler "x"`},
		{"job of an action", func(d *workflow.Definition) { d.Actions[0].Jobs = []int32{3} }, "job number 3 does not exist"},
		{"default requirements", func(d *workflow.Definition) { d.Requirements[0].Name = "default" }, "the name is reserved"},
		{"name twice", func(d *workflow.Definition) { d.Jobs[2].Name = "first" }, `duplicate job name "first"`},
		{"handler twice", func(d *workflow.Definition) { d.FailureHandlers = append(d.FailureHandlers, d.FailureHandlers[0]) }, `duplicate name "h"`},
		{"two jobs for a stage", func(d *workflow.Definition) {
			d.Stages = []workflow.StageDefinition{{Kind: workflow.StageChild, Name: "s"}}
			d.Jobs[0].Child, d.Jobs[1].Child = 1, 1
		}, `job "first" stands for stage number 1, as job "last" does`},
		{"an undo of itself", func(d *workflow.Definition) { compensated(d, 3, 2) }, `job "second" undoes job number 3, which does not precede it`},
		{"an undo of no compensation", func(d *workflow.Definition) { d.Jobs[2].Undoes = 1 }, `job "second" undoes another job, but is in no compensation`},
		{"an undo of an undo", func(d *workflow.Definition) { compensated(d, 2, 1, 2) }, `job "second" cannot undo another job`},
		{"an undo that is an end", func(d *workflow.Definition) {
			compensated(d, 1, 2)
			d.Stages[0].Kind = workflow.StageEnd
		}, `job "second" cannot undo another job`},
		{"itself", func(d *workflow.Definition) { d.Jobs[2].DependsOn = []int32{2} }, "cycle: second -> second"},
		{"cycle", func(d *workflow.Definition) { d.Jobs[1].DependsOn = []int32{0} }, "cycle: last -> first -> last"},
		{"priority", func(d *workflow.Definition) { d.Jobs[1].Priority = -1 }, "must not be negative"},
		{"label", func(d *workflow.Definition) { d.Jobs[1].Labels = []string{"a,b"} }, "comma"},
		{"environment", func(d *workflow.Definition) { d.Jobs[1].Env = map[string]string{"1": ""} }, "environment variable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := n.in(t)
			d := everything()
			tc.change(d)
			w, err := n.Workflows.BeginDefinition(n.ctx, d, "key")
			n.must(err)
			if err = w.Add(d); err == nil {
				_, err = w.Finish(n.ctx, int64(len(d.Jobs)), int64(len(d.Files)))
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			wantCode(t, err, workflow.CodeInvalid)
			n.must(w.Close())
		})
	}
	if k := n.count(`SELECT COUNT(*) FROM workflow WHERE id NOT IN (?, ?)`, n.workflow, n.other); k != 0 {
		t.Errorf("%d refused workflows are left", k)
	}
	for _, table := range []string{"job", "file", "gate", "gate_dependency", "job_input_file", "claim_class", "workflow_action", "workflow_action_job"} {
		if k := n.count(`SELECT COUNT(*) FROM ` + table); k != 0 {
			t.Errorf("%d rows are left in %s", k, table)
		}
	}
}

func TestDefinitionInChunksIsTheSame(t *testing.T) {
	n := newNouns(t)
	d := &workflow.Definition{Name: "w", User: "me"}
	for i := range 7 {
		j := workflow.JobDefinition{Name: fmt.Sprint("j", i), Command: "true"}
		if i > 1 {
			j.DependsOn = []int32{1, 0, 1} // in no order
		}
		if i == 1 {
			j.DependsOn = []int32{0}
		}
		d.Jobs = append(d.Jobs, j)
	}
	d.Jobs[0].DependsOn = nil
	whole := n.define(d)
	w, err := n.Workflows.BeginDefinition(n.ctx, d, "")
	n.must(err)
	for i := range d.Jobs {
		n.must(w.Add(&workflow.Definition{Jobs: d.Jobs[i : i+1]}))
	}
	if _, err := n.Workflows.Get(n.ctx, w.id); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("visible before it is finished: %v", err)
	}
	if _, err := w.Finish(n.ctx, 8, 0); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("finished without the last job: %v", err)
	}
	pieces, err := w.Finish(n.ctx, 7, 0)
	n.must(err)
	edges := func(id int64) (edges []string) {
		list, _, err := n.Jobs.Dependencies(n.ctx, id, sqlite.Page{Limit: 100})
		n.must(err)
		for _, e := range list {
			edges = append(edges, e.JobName+" "+e.DependsOnJobName)
		}
		return edges
	}
	if diff := cmp.Diff(edges(whole), edges(pieces)); diff != "" {
		t.Errorf("edges (-whole +pieces):\n%s", diff)
	}
	if a, b := n.count(`SELECT COUNT(*) FROM gate WHERE workflow_id = ?`, whole), n.count(`SELECT COUNT(*) FROM gate WHERE workflow_id = ?`, pieces); a != 2 || b != 2 {
		t.Errorf("%d and %d gates, want 2: jobs with the same dependencies share one", a, b)
	}
}

func TestDefinitionIsCreatedOnce(t *testing.T) {
	n := newNouns(t)
	path := filepath.Join(t.TempDir(), "torc.db")
	open := func() *nouns {
		s, err := Open(n.ctx, Options{Path: path})
		n.must(err)
		same := *n
		same.Store = s
		return &same
	}
	d := chain(5)
	n = open()
	w, err := n.Workflows.BeginDefinition(n.ctx, d, "key")
	n.must(err)
	n.must(w.Add(&workflow.Definition{Jobs: d.Jobs[:3]}))
	n.must(n.Store.Close()) // the daemon dies between two chunks

	n = open()
	defer func() { n.must(n.Store.Close()) }()
	if _, total, err := n.Workflows.List(n.ctx, WorkflowFilter{}, sqlite.Page{Limit: 10}); err != nil || total != 0 {
		t.Errorf("%d workflows, error %v", total, err)
	}
	again, err := n.Workflows.BeginDefinition(n.ctx, d, "key")
	n.must(err)
	if k := n.count(`SELECT COUNT(*) FROM job`); k != 0 {
		t.Errorf("%d jobs are left of the half", k)
	}
	n.must(again.Add(d))

	// A second client with the same key takes over; the first one can no longer write.
	third, err := n.Workflows.BeginDefinition(n.ctx, d, "key")
	n.must(err)
	_, err = again.Finish(n.ctx, 5, 0)
	wantCode(t, err, workflow.CodeConflict)
	n.must(again.Close())
	n.must(third.Add(d))
	id, err := third.Finish(n.ctx, 5, 0)
	n.must(err)
	n.must(third.Close())

	fourth, err := n.Workflows.BeginDefinition(n.ctx, d, "key")
	n.must(err)
	got, jobs, finished, err := fourth.Finished(n.ctx)
	if n.must(err); !finished || got != id || jobs != 5 {
		t.Errorf("workflow %d with %d jobs, finished %t; want %d with 5", got, jobs, finished, id)
	}
	n.must(fourth.Close())
	if k := n.count(`SELECT COUNT(*) FROM job`); k != 5 {
		t.Errorf("%d jobs after four attempts", k)
	}
}

func BenchmarkDefinition(b *testing.B) {
	const jobs = 100_000
	d := chain(jobs)
	for b.Loop() {
		b.StopTimer()
		n := newNouns(b)
		b.StartTimer()
		w, err := n.Workflows.BeginDefinition(n.ctx, d, "")
		n.must(err)
		for i := 0; i < jobs; i += 1000 { // as they arrive over the network
			n.must(w.Add(&workflow.Definition{Jobs: d.Jobs[i : i+1000]}))
		}
		_, err = w.Finish(n.ctx, jobs, 0)
		n.must(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/jobs, "ns/job")
}

func BenchmarkDeleteWorkflow(b *testing.B) {
	const jobs = 100_000
	d := chain(jobs)
	for i := range 1000 {
		d.Jobs[i].Env = map[string]string{"N": fmt.Sprint(i)}
	}
	for b.Loop() {
		b.StopTimer()
		n := newNouns(b)
		id := n.define(d)
		n.must(n.Workflows.Initialize(n.ctx, id, InitializeOptions{}))
		b.StartTimer()
		_, err := n.Workflows.Delete(n.ctx, id, false)
		n.must(err)
	}
}
