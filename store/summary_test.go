package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

func TestSummary(t *testing.T) {
	n := newNouns(t)
	_, ready, running := n.scene()
	_, err := n.Results.Create(n.ctx, workflow.Result{WorkflowID: n.workflow, JobID: running, RunID: 1, AttemptID: 1, ComputeNodeID: n.node(n.workflow),
		ExecTimeMinutes: 2, CompletionTime: "2026-11-21T10:02:00+00:00", Status: workflow.Completed})
	n.must(err)
	n.insert(`UPDATE claim_class SET labels = 'big,gpu' WHERE id = (SELECT class_id FROM job WHERE id = ?)`, ready)
	n.insert(`UPDATE compute_node SET end_time = '2026-11-21T10:10:00+00:00'`)
	got, err := n.Workflows.Summary(n.ctx, n.workflow)
	n.must(err)
	want := Summary{
		WorkflowID: n.workflow, Name: "w", User: "me", RunID: 1, ExecMinutes: 2, WalltimeSeconds: new(120.0), ActiveNodes: 2,
		MaxRemainingSeconds: new(int64(600)), RuntimeBlocked: 1, LongestReadySeconds: new(int64(1800)), UnservedLabels: map[string]int64{"big,gpu": 2},
		Attempts: stage.AttemptCounts{Ended: 2, Retried: 1, ByCause: map[workflow.CauseKind]int64{workflow.CauseExit: 2}},
	}
	want.Jobs = [11]int64{workflow.Blocked: 1, workflow.Ready: 3, workflow.Running: 1, workflow.Failed: 1}
	if diff := cmp.Diff(want, got); diff != "" || got.IsComplete() || got.Total() != 6 {
		t.Errorf("complete %v, total %d (-want +got):\n%s", got.IsComplete(), got.Total(), diff)
	}
	n.insert(`UPDATE compute_node SET end_time = NULL, labels = 'big,gpu,x' WHERE id = (SELECT MIN(id) FROM compute_node)`)
	n.insert(`UPDATE compute_node SET end_time = NULL WHERE labels IS NULL`)
	got, err = n.Workflows.Summary(n.ctx, n.workflow)
	n.must(err)
	if got.RuntimeBlocked != 0 || got.LongestReadySeconds != nil || got.UnservedLabels != nil || got.MaxRemainingSeconds != nil {
		t.Errorf("with endless nodes that have the labels: %+v", got)
	}
	_, err = n.Workflows.Summary(n.ctx, 99)
	wantCode(t, err, workflow.CodeNotFound)
}

func TestIsCompleteAndUninitialized(t *testing.T) {
	for name, c := range map[string]struct {
		jobs                    map[workflow.JobStatus]int64
		canceled                bool
		complete, uninitialized bool
	}{
		"empty":         {nil, false, true, true},
		"new":           {map[workflow.JobStatus]int64{workflow.Uninitialized: 2, workflow.Disabled: 1}, false, false, true},
		"done":          {map[workflow.JobStatus]int64{workflow.Completed: 1, workflow.Failed: 1, workflow.Canceled: 1, workflow.Terminated: 1, workflow.Disabled: 1}, false, true, false},
		"held":          {map[workflow.JobStatus]int64{workflow.Completed: 1, workflow.PendingFailed: 1}, false, false, false},
		"running":       {map[workflow.JobStatus]int64{workflow.Running: 1}, false, false, false},
		"canceled live": {map[workflow.JobStatus]int64{workflow.Running: 1}, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNouns(t)
			for status, k := range c.jobs {
				n.insert(`INSERT INTO job_count (workflow_id, status, n) VALUES (?, ?, ?)`, n.workflow, status, k)
			}
			n.insert(`UPDATE workflow SET is_canceled = ? WHERE id = ?`, c.canceled, n.workflow)
			canceled, complete, err := n.Workflows.IsComplete(n.ctx, n.workflow)
			if err != nil || canceled != c.canceled || complete != c.complete {
				t.Errorf("canceled %v, complete %v, error %v; want %v, %v", canceled, complete, err, c.canceled, c.complete)
			}
			uninitialized, err := n.Workflows.IsUninitialized(n.ctx, n.workflow)
			if err != nil || uninitialized != c.uninitialized {
				t.Errorf("uninitialized %v, error %v; want %v", uninitialized, err, c.uninitialized)
			}
		})
	}
}

func TestRelations(t *testing.T) {
	n := newNouns(t)
	blocked, _, running := n.scene()
	files, err := n.Files.Create(n.ctx, []artifact.File{
		{WorkflowID: n.workflow, Name: "in", Path: "/in"}, {WorkflowID: n.workflow, Name: "mid", Path: "/mid"}, {WorkflowID: n.workflow, Name: "idle", Path: "/idle"},
	})
	n.must(err)
	n.insert(`INSERT INTO job_input_file (job_id, file_id) VALUES (?, ?), (?, ?)`, running, files[0].ID, blocked, files[1].ID)
	n.insert(`INSERT INTO job_output_file (job_id, file_id) VALUES (?, ?)`, running, files[1].ID)
	data, err := n.UserData.Create(n.ctx, []artifact.UserData{{WorkflowID: n.workflow, Name: "d"}}, UserDataLinks{ConsumerJobID: &blocked})
	n.must(err)

	deps, total, err := n.Jobs.Dependencies(n.ctx, n.workflow, sqlite.Page{Limit: 1, SortBy: "depends_on_job_name", Reverse: true})
	n.must(err)
	want := workflow.JobDependency{JobID: blocked, JobName: "j", DependsOnJobID: running, DependsOnJobName: "busy", WorkflowID: n.workflow}
	if diff := cmp.Diff([]workflow.JobDependency{want}, deps); diff != "" || total != 2 {
		t.Errorf("%d dependencies (-want +got):\n%s", total, diff)
	}
	rel, total, err := n.Jobs.FileRelationships(n.ctx, n.workflow, sqlite.Page{Limit: 10, Offset: 1})
	n.must(err)
	wantRel := []artifact.JobFileRelationship{{FileID: files[1].ID, FileName: "mid", FilePath: "/mid", WorkflowID: n.workflow,
		ProducerJobID: &running, ProducerJobName: new("busy"), ConsumerJobID: &blocked, ConsumerJobName: new("j")}}
	if diff := cmp.Diff(wantRel, rel); diff != "" || total != 2 {
		t.Errorf("%d files (-want +got):\n%s", total, diff)
	}
	_, total, err = n.Jobs.UserDataRelationships(n.ctx, n.workflow, sqlite.Page{Limit: 10})
	if err != nil || total != 1 {
		t.Errorf("%d user data, error %v; want 1", total, err)
	}
	for what, c := range map[string]struct {
		read func() ([]int64, error)
		want []int64
	}{
		"required files": {func() ([]int64, error) { return n.Files.RequiredExisting(n.ctx, n.workflow) }, []int64{files[0].ID}},
		"missing data":   {func() ([]int64, error) { return n.UserData.Missing(n.ctx, n.workflow) }, []int64{data[0].ID}},
	} {
		got, err := c.read()
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", what, err, diff)
		}
	}
	n.insert(`UPDATE job SET status = 5 WHERE id = ?`, running)
	got, err := n.Files.RequiredExisting(n.ctx, n.workflow)
	if diff := cmp.Diff([]int64{files[0].ID, files[1].ID}, got); err != nil || diff != "" {
		t.Errorf("with a completed producer: error %v (-want +got):\n%s", err, diff)
	}
}

func TestRunningJobsAndCorrelations(t *testing.T) {
	n := newNouns(t)
	_, _, running := n.scene()
	allocation, err := n.ScheduledComputeNodes.Create(n.ctx, compute.ScheduledNode{WorkflowID: n.workflow, SchedulerID: 1000, SchedulerType: "slurm", Status: "active"})
	n.must(err)
	n.insert(`UPDATE compute_node SET scheduler = json_object('scheduler_id', ?)`, allocation.ID)
	got, _, err := n.Jobs.Running(n.ctx, n.workflow, sqlite.Page{Limit: 10})
	n.must(err)
	want := []workflow.RunningJob{{JobID: running, JobName: "busy", ComputeNodeID: 1, ComputeNodeName: "n1", SchedulerType: "slurm", SchedulerJobID: new("1000"),
		StartTime: new("1970-01-01T00:00:05.000+00:00")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
	node := n.count(`SELECT id FROM compute_node`)
	for run := range int64(2) {
		_, err = n.Results.Create(n.ctx, workflow.Result{WorkflowID: n.workflow, JobID: running, RunID: run, AttemptID: 1, ComputeNodeID: node, CompletionTime: "t", Status: workflow.Completed})
		n.must(err)
	}
	correlations, total, err := n.SlurmStats.JobCorrelations(n.ctx, n.workflow, sqlite.Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]compute.SlurmJobCorrelation{{SlurmJobID: "1000", JobID: running, JobName: "busy"}}, correlations); diff != "" || total != 1 {
		t.Errorf("%d correlations (-want +got):\n%s", total, diff)
	}
}
