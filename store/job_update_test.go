package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

func (g *jobGraph) jobOf(i int) workflow.Job {
	g.t.Helper()
	j, err := g.Jobs.Get(g.ctx, g.jobs[i])
	g.must(err)
	return j
}

func TestUpdateJob(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	before := g.jobOf(3)
	want := before
	want.Name, want.Command, want.InvocationScript = "last", "false", new("wrap.sh")
	want.SupportsTermination, want.RunIf = new(true), workflow.RunIfAlways
	want.Priority, want.Labels, want.SchedulerID, want.DependsOn = 9, []string{"a", "b"}, new(int64(3)), []int64{g.jobs[0]}
	got, err := n.Jobs.Update(n.ctx, g.jobs[3], workflow.JobUpdate{
		Name: &want.Name, Command: &want.Command, JobSettings: want.JobSettings, TorcJob: want.TorcJob,
		CancelOnBlockingJobFailure: new(false), Priority: new(int64(9)), Labels: []string{"b", "a"}, SchedulerID: new(int64(3)),
		DependsOn: []int64{g.jobs[0]}, Status: new(workflow.Uninitialized), Env: map[string]string{}, InputFiles: []int64{},
	})
	n.must(err)
	want.GateID = got.GateID
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
	if *got.GateID == *before.GateID || *got.GateID != *g.jobOf(1).GateID {
		t.Errorf("gate %d, want that of the jobs with the same dependency, %d", *got.GateID, *g.jobOf(1).GateID)
	}
	got, err = n.Jobs.Update(n.ctx, g.jobs[3], workflow.JobUpdate{Labels: []string{}, DependsOn: []int64{}})
	if n.must(err); got.Labels != nil || got.GateID != nil || got.Priority != 9 {
		t.Errorf("labels %v, gate %v, priority %d", got.Labels, got.GateID, got.Priority)
	}
	g.checkCounters()
}

func TestUpdateJobRefusals(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	for _, tc := range []struct {
		name   string
		job    int
		status workflow.JobStatus // before
		update workflow.JobUpdate
		want   string
	}{
		{"name", 0, ready, workflow.JobUpdate{Name: new("x"), Command: new("y")}, "Cannot modify name, command of job 1: it must be uninitialized, but is ready"},
		{"dependencies", 1, running, workflow.JobUpdate{DependsOn: []int64{}}, "depends_on_job_ids"},
		{"disable", 0, pending, workflow.JobUpdate{Status: new(workflow.Disabled)}, "uninitialized"},
		{"status", 0, uninitialized, workflow.JobUpdate{Status: new(workflow.Ready)}, "Cannot update job status"},
		{"files", 0, uninitialized, workflow.JobUpdate{OutputFiles: []int64{4}}, "Cannot modify output_file_ids of job 1: it is immutable"},
		{"environment", 0, uninitialized, workflow.JobUpdate{Env: map[string]string{"A": "1"}}, "Cannot modify env"},
		{"priority", 0, uninitialized, workflow.JobUpdate{Priority: new(int64(-1))}, "priority"},
		{"label", 0, uninitialized, workflow.JobUpdate{Labels: []string{" "}}, "label"},
		{"itself", 2, uninitialized, workflow.JobUpdate{DependsOn: []int64{3}}, "cannot depend on itself"},
		{"cycle", 0, uninitialized, workflow.JobUpdate{DependsOn: []int64{4}}, "job 1 cannot depend on job 4, which depends on it"},
		{"unknown", 0, uninitialized, workflow.JobUpdate{DependsOn: []int64{44}}, "job 44 does not exist"},
		{"requirements", 0, ready, workflow.JobUpdate{ResourceRequirementsID: new(int64(44))}, "resource requirements 44 does not exist"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g.force(tc.job, tc.status)
			before := g.jobOf(tc.job)
			_, err := n.Jobs.Update(n.ctx, g.jobs[tc.job], tc.update)
			wantCode(t, err, workflow.CodeInvalid)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			if diff := cmp.Diff(before, g.jobOf(tc.job)); diff != "" {
				t.Errorf("changed all the same (-before +after):\n%s", diff)
			}
			g.force(tc.job, uninitialized)
		})
	}
}

func TestDisabledJobsCountAsComplete(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	n.must(n.shared.Do("reset", func(tx *core.Tx) error {
		tx.Move(g.workflow, ready, uninitialized, 1)
		return tx.ExecOne(`UPDATE job SET status = 0 WHERE id = ?`, g.jobs[0])
	}))
	_, err := n.Jobs.Update(n.ctx, g.jobs[0], workflow.JobUpdate{Status: new(workflow.Disabled)})
	n.must(err)
	g.want("disabled", disabled, ready, ready, blocked)
}

func TestDeleteJob(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	_, err := n.Actions.Create(n.ctx, action.Record{WorkflowID: g.workflow, TriggerType: action.TriggerJobsComplete,
		ActionType: "x", Config: []byte(`{}`), JobIDs: g.jobs[:2]})
	n.must(err)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	g.force(0, running)
	_, err = n.Jobs.Delete(n.ctx, g.jobs[0], "me")
	wantCode(t, err, workflow.CodeConflict)
	_, err = n.Jobs.DeleteAll(n.ctx, g.workflow, "me")
	wantCode(t, err, workflow.CodeConflict)

	g.force(0, completed)
	deleted, err := n.Jobs.Delete(n.ctx, g.jobs[1], "me")
	if n.must(err); deleted.Name != "b" {
		t.Errorf("deleted %+v", deleted)
	}
	g.jobs = append(g.jobs[:1:1], g.jobs[2:]...)
	g.want("b deleted", completed, ready, blocked)
	if deps := g.jobOf(2).DependsOn; len(deps) != 1 || deps[0] != g.jobs[1] {
		t.Errorf("d depends on %v, want c alone", deps)
	}
	a, err := n.Actions.List(n.ctx, g.workflow)
	if n.must(err); a[0].RequiredTriggers != 1 || a[0].TriggerCount != 1 {
		t.Errorf("action counts %d of %d, want 1 of 1", a[0].TriggerCount, a[0].RequiredTriggers)
	}
	_, err = n.Jobs.Delete(n.ctx, g.jobs[1], "me")
	n.must(err)
	g.want("c deleted", completed, ready)
	g.jobs = append(g.jobs[:1:1], g.jobs[2])
	g.force(1, failed)
	count, err := n.Jobs.DeleteAll(n.ctx, g.workflow, "me")
	if n.must(err); count != 2 {
		t.Errorf("%d jobs deleted, want 2", count)
	}
	g.checkCounters()
	for _, table := range append([]string{"job", "gate", "claim_class", "job_env"}, ofJobs...) {
		if k := n.count(`SELECT COUNT(*) FROM ` + table); k != 0 {
			t.Errorf("%d rows are left in %s", k, table)
		}
	}
}

func TestDeleteJobMergesGates(t *testing.T) {
	n := newNouns(t)
	d := diamond()
	d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: "e", Command: "true", DependsOn: []int32{1}})
	g := n.graph(d)
	_, err := n.Jobs.Delete(n.ctx, g.jobs[2], "me")
	n.must(err)
	if a, b := *g.jobOf(3).GateID, *g.jobOf(4).GateID; a != b {
		t.Errorf("gates %d and %d, want one: both jobs depend on b alone", a, b)
	}
	g.checkCounters()
}

// A job that loses its only dependency in a canceled workflow waits for the next run.
func TestDeleteJobOfACanceledWorkflow(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	_, err := n.Workflows.Cancel(n.ctx, g.workflow)
	n.must(err)
	_, err = n.Jobs.Delete(n.ctx, g.jobs[0], "me")
	n.must(err)
	g.jobs = g.jobs[1:]
	g.want("a deleted", blocked, blocked, blocked)
	_, err = n.Workflows.Reset(n.ctx, g.workflow, false, "me")
	n.must(err)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{OnlyUninitialized: true}))
	g.want("the next run", ready, ready, blocked)
}
