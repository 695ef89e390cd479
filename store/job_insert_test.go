package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// ground is a workflow with a row of everything that jobs refer to, and the same in
// another workflow.
type ground struct {
	*nouns
	workflow, other                int64
	file, otherFile                int64
	data, otherData                int64
	requirements, otherRequirement int64
	job, otherJob                  int64
}

func newGround(t *testing.T) *ground {
	n := newNouns(t)
	g := &ground{nouns: n}
	make := func() (id, file, data, requirements, job int64) {
		w, err := n.Workflows.Create(n.ctx, workflow.Workflow{Name: "w", User: "me", Env: map[string]string{"A": "1", "B": "2"}})
		n.must(err)
		files, err := n.Files.Create(n.ctx, []artifact.File{{WorkflowID: w.ID, Name: "f", Path: "f"}})
		n.must(err)
		records, err := n.UserData.Create(n.ctx, []artifact.UserData{{WorkflowID: w.ID, Name: "d"}}, UserDataLinks{})
		n.must(err)
		q, err := n.Requirements.Create(n.ctx, workflow.ResourceRequirements{WorkflowID: w.ID, Name: "q", NumCPUs: 2, NumNodes: 1, Memory: "1g", Runtime: "PT1H"})
		n.must(err)
		jobs, err := n.Jobs.Create(n.ctx, []workflow.Job{{WorkflowID: w.ID, Name: "first", Command: "true"}})
		n.must(err)
		return w.ID, files[0].ID, records[0].ID, q.ID, jobs[0].ID
	}
	g.workflow, g.file, g.data, g.requirements, g.job = make()
	g.other, g.otherFile, g.otherData, g.otherRequirement, g.otherJob = make()
	return g
}

func TestCreateJobs(t *testing.T) {
	g := newGround(t)
	sent := []workflow.Job{
		{WorkflowID: g.workflow, Name: "z", Command: "c", Env: map[string]string{"B": "3"}, Labels: []string{"y", "x", "y"}, Priority: 4,
			Status: workflow.Running, AttemptID: 7, DependsOn: []int64{g.job}, InputFiles: []int64{g.file, g.file},
			OutputUserData: []int64{g.data}, ResourceRequirementsID: &g.requirements, SchedulerID: new(int64(77))},
		{WorkflowID: g.workflow, Name: "a", Command: "c", DependsOn: []int64{g.job}},
	}
	created, err := g.Jobs.Create(g.ctx, sent)
	g.must(err)
	defaults := g.count(`SELECT id FROM resource_requirements WHERE workflow_id = ? AND name = 'default'`, g.workflow)
	want := []workflow.Job{
		{ID: g.otherJob + 1, WorkflowID: g.workflow, Name: "z", Command: "c", Env: map[string]string{"A": "1", "B": "3"}, Labels: []string{"x", "y"}, Priority: 4,
			AttemptID: 1, DependsOn: []int64{g.job}, InputFiles: []int64{g.file}, OutputUserData: []int64{g.data},
			ResourceRequirementsID: &g.requirements, SchedulerID: new(int64(77))},
		{ID: g.otherJob + 2, WorkflowID: g.workflow, Name: "a", Command: "c", Env: map[string]string{"A": "1", "B": "2"},
			AttemptID: 1, DependsOn: []int64{g.job}, ResourceRequirementsID: &defaults},
	}
	if diff := cmp.Diff(want, created, cmpopts.IgnoreFields(workflow.JobState{}, "GateID")); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	if created[0].GateID == nil || created[1].GateID == nil || *created[0].GateID != *created[1].GateID {
		t.Error("jobs with the same dependencies do not share a gate")
	}
	for _, j := range created {
		stored, err := g.Jobs.Get(g.ctx, j.ID)
		g.must(err)
		if diff := cmp.Diff(j, stored); diff != "" {
			t.Errorf("stored (-created +stored):\n%s", diff)
		}
	}
}

func TestCreateJobsRefusals(t *testing.T) {
	g := newGround(t)
	for _, tc := range []struct {
		name   string
		change func(*workflow.Job)
		code   workflow.Code
		want   string
	}{
		{"no workflow", func(j *workflow.Job) { j.WorkflowID = 99 }, workflow.CodeNotFound, "Workflow not found with ID: 99"},
		{"priority", func(j *workflow.Job) { j.Priority = -1 }, workflow.CodeInvalid, "priority"},
		{"label", func(j *workflow.Job) { j.Labels = []string{""} }, workflow.CodeInvalid, "label"},
		{"environment", func(j *workflow.Job) { j.Env = map[string]string{"A B": "1"} }, workflow.CodeInvalid, `"A B"`},
		{"job of another workflow", func(j *workflow.Job) { j.DependsOn = []int64{g.otherJob} }, workflow.CodeInvalid, "belongs to workflow"},
		{"no such job", func(j *workflow.Job) { j.DependsOn = []int64{-3} }, workflow.CodeInvalid, "job -3 does not exist"},
		{"itself", func(j *workflow.Job) { j.DependsOn = []int64{g.otherJob + 2} }, workflow.CodeInvalid, "does not exist"},
		{"one before it", func(j *workflow.Job) { j.DependsOn = []int64{g.otherJob + 1} }, workflow.CodeInvalid, "does not exist"},
		{"file", func(j *workflow.Job) { j.InputFiles = []int64{g.otherFile} }, workflow.CodeInvalid, "belongs to workflow"},
		{"no such file", func(j *workflow.Job) { j.OutputFiles = []int64{99} }, workflow.CodeInvalid, "file 99 does not exist"},
		{"user data", func(j *workflow.Job) { j.InputUserData = []int64{g.otherData} }, workflow.CodeInvalid, "belongs to workflow"},
		{"requirements", func(j *workflow.Job) { j.ResourceRequirementsID = &g.otherRequirement }, workflow.CodeInvalid, "belongs to workflow"},
		{"handler", func(j *workflow.Job) { j.FailureHandlerID = new(int64(5)) }, workflow.CodeInvalid, "failure handler 5 does not exist"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			jobs := []workflow.Job{{WorkflowID: g.workflow, Name: "good", Command: "true"}, {WorkflowID: g.workflow, Name: "bad", Command: "true"}}
			tc.change(&jobs[1])
			if tc.code == workflow.CodeNotFound {
				jobs = jobs[1:]
			}
			_, err := g.Jobs.Create(g.ctx, jobs)
			wantCode(t, err, tc.code)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
	if n := g.count(`SELECT COUNT(*) FROM job`); n != 2 {
		t.Errorf("%d jobs, want none but the two that were there", n)
	}
}

func TestNewJobReopensAnEndedRun(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	for i := range 4 {
		g.force(i, completed)
	}
	_, err := n.Jobs.Create(n.ctx, []workflow.Job{{WorkflowID: g.workflow, Name: "more", Command: "true"}})
	n.must(err)
	w, err := n.Workflows.Get(n.ctx, g.workflow)
	if n.must(err); w.Verdict != "" || w.EndGeneration != 1 {
		t.Errorf("verdict %q, generation %d", w.Verdict, w.EndGeneration)
	}
}

func BenchmarkCreateJobs(b *testing.B) {
	const jobs = 100_000
	for b.Loop() {
		b.StopTimer()
		n := newNouns(b)
		w, err := n.Workflows.Create(n.ctx, workflow.Workflow{Name: "w", User: "me"})
		n.must(err)
		list := make([]workflow.Job, jobs)
		for i := range list {
			list[i] = workflow.Job{WorkflowID: w.ID, Name: fmt.Sprintf("job_%06d", i), Command: fmt.Sprintf("bash work.sh %d", i)}
		}
		b.StartTimer()
		_, err = n.Jobs.Create(n.ctx, list)
		n.must(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/jobs, "ns/job")
}
