package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// node adds a compute node of a torc client.
func (r *rig) node(host string) int64 {
	r.tb.Helper()
	n, err := r.ComputeNodes.Create(r.ctx, compute.Node{
		WorkflowID: r.workflow, Hostname: host, PID: 1, StartTime: "2026-11-21T10:00:00+00:00", IsActive: true,
		NumCPUs: 4, MemoryGB: 8, NumNodes: 1, Type: compute.SchedulerSlurm,
	})
	r.must(err)
	return n.ID
}

// completion returns a torc client's report that a job has ended.
func (r *rig) completion(i int, node int64, status workflow.JobStatus, code int64) Completion {
	return Completion{JobID: r.ids[i], Status: status, RunID: 1, Result: workflow.Result{
		JobID: r.ids[i], WorkflowID: r.workflow, RunID: 1, AttemptID: 1, ComputeNodeID: node, ReturnCode: code,
		ExecTimeMinutes: 0.5, CompletionTime: "2026-11-21T10:02:00+00:00", Status: status,
	}}
}

func TestClientRunsJobs(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	node := r.node("n1")
	jobs, reason, err := r.Jobs.ClaimByResources(r.ctx, r.workflow, 8, Resources{CPUs: 4, MemoryBytes: 1 << 33, Nodes: 1}, false)
	r.must(err)
	if len(jobs) != 1 || jobs[0].Status != workflow.Pending || jobs[0].AttemptID != 1 || reason != "" {
		t.Fatalf("claimed %+v, reason %q", jobs, reason)
	}
	for range 2 {
		j, err := r.Jobs.Start(r.ctx, r.ids[0], 1, node)
		r.must(err)
		if j.Status != workflow.Running {
			t.Errorf("started: %+v", j)
		}
	}
	done := r.completion(0, node, workflow.Completed, 0)
	for range 2 {
		j, err := r.Jobs.Complete(r.ctx, done)
		r.must(err)
		if j.Status != workflow.Completed {
			t.Errorf("completed: %+v", j)
		}
	}
	r.want(workflow.Completed, workflow.Ready)
	if diff := cmp.Diff([]string{"1 ok completed 0 none"}, r.attempts(0)); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	done.Result.ReturnCode = 3
	_, err = r.Jobs.Complete(r.ctx, done)
	wantCode(t, err, workflow.CodeConflict)
	if !strings.Contains(err.Error(), "is already complete with status=completed") {
		t.Errorf("error: %v", err)
	}
	if diff := cmp.Diff([]string{"compute_node_started", "job_started", "job_completed"}, r.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestCompleteJobRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(r *rig, c *Completion)
		want   workflow.Code
	}{
		{"status not terminal", func(_ *rig, c *Completion) { c.Status = workflow.Ready }, workflow.CodeInvalid},
		{"unknown job", func(_ *rig, c *Completion) { c.JobID = 999 }, workflow.CodeNotFound},
		{"result of another job", func(_ *rig, c *Completion) { c.Result.JobID++ }, workflow.CodeInvalid},
		{"result of another workflow", func(_ *rig, c *Completion) { c.Result.WorkflowID++ }, workflow.CodeInvalid},
		{"result with another status", func(_ *rig, c *Completion) { c.Result.Status = workflow.Failed }, workflow.CodeInvalid},
		{"result of another run", func(_ *rig, c *Completion) { c.Result.RunID++ }, workflow.CodeInvalid},
		{"stale run", func(_ *rig, c *Completion) { c.RunID, c.Result.RunID = 9, 9 }, workflow.CodeConflict},
		{"unknown node", func(_ *rig, c *Completion) { c.Result.ComputeNodeID = 999 }, workflow.CodeInvalid},
		{"old attempt", func(r *rig, _ *Completion) {
			r.do(func(tx *core.Tx) error { return tx.ExecOne(`UPDATE job SET attempt_id = 2 WHERE id = ?`, r.ids[0]) })
		}, workflow.CodeConflict},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			c := r.completion(0, r.node("n1"), workflow.Completed, 0)
			test.change(r, &c)
			_, err := r.Jobs.Complete(r.ctx, c)
			wantCode(t, err, test.want)
			if n := r.number(`SELECT (SELECT COUNT(*) FROM attempt) + (SELECT COUNT(*) FROM result)`); n != 0 {
				t.Errorf("%d rows were written all the same", n)
			}
			r.want(workflow.Ready)
		})
	}
}

func TestBatchIsNotPoisonedByAnEntry(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{}, rigJob{after: []int{0, 1, 2}})
	node := r.node("n1")
	batch := []Completion{
		r.completion(0, node, workflow.Completed, 0),
		r.completion(1, 999, workflow.Completed, 0),
		r.completion(1, node, workflow.Running, 0),
		{JobID: 4711, Status: workflow.Completed, RunID: 1},
		r.completion(1, node, workflow.Terminated, 152),
		r.completion(0, node, workflow.Completed, 0),
		r.completion(2, node, workflow.Failed, 3),
	}
	completed, refused, err := r.Jobs.CompleteBatch(r.ctx, r.workflow, batch)
	r.must(err)
	if diff := cmp.Diff([]int64{r.ids[0], r.ids[1], r.ids[2]}, completed); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
	if len(refused) != 4 || !strings.Contains(refused[3].Message, "is already complete with status=completed") {
		t.Errorf("refused: %+v", refused)
	}
	r.want(workflow.Completed, workflow.Terminated, workflow.Failed, workflow.Canceled)
	var v stage.EndPayload
	r.verdict(&v)
	if v.Completed != 1 || v.FailedStepsCount != 2 || v.Canceled != 1 {
		t.Errorf("verdict: %+v", v)
	}
	if _, _, err := r.Jobs.CompleteBatch(r.ctx, 999, nil); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("unknown workflow: %v", err)
	}
}

func TestClientHoldsAJob(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	node := r.node("n1")
	_, err := r.Jobs.Complete(r.ctx, r.completion(0, node, workflow.PendingFailed, 7))
	r.must(err)
	r.want(workflow.PendingFailed, workflow.Blocked)
	_, err = r.Jobs.Complete(r.ctx, r.completion(0, node, workflow.Completed, 0))
	wantCode(t, err, workflow.CodeConflict)
}

func TestClientCompletesWhatARunnerHas(t *testing.T) {
	r := newRig(t, independent(1)...)
	h := r.hand("n1", 1)
	h.turn()
	_, err := r.Jobs.Complete(r.ctx, r.completion(0, r.node("n2"), workflow.Completed, 0))
	r.must(err)
	answer := h.turn()
	if diff := cmp.Diff([]lease.LeaseRef{h.held[0].LeaseRef}, answer.Voided); diff != "" {
		t.Errorf("voided (-want +got):\n%s", diff)
	}
	if res := h.turn(exited(h.held[0].LeaseRef, 1)).Results[0]; res.Outcome != lease.Late {
		t.Errorf("the runner's own report: %+v", res)
	}
	r.want(workflow.Completed)
}

func TestStartJobRefuses(t *testing.T) {
	r := newRig(t, independent(1)...)
	node := r.node("n1")
	for _, test := range []struct {
		name           string
		job, run, node int64
		want           workflow.Code
	}{
		{"not claimed", r.ids[0], 1, node, workflow.CodeConflict},
		{"unknown job", 999, 1, node, workflow.CodeNotFound},
		{"stale run", r.ids[0], 2, node, workflow.CodeConflict},
		{"unknown node", r.ids[0], 1, 999, workflow.CodeInvalid},
	} {
		_, err := r.Jobs.Start(r.ctx, test.job, test.run, test.node)
		if workflow.CodeOf(err) != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	h := r.hand("n2", 1)
	h.turn()
	_, err := r.Jobs.Start(r.ctx, r.ids[0], 1, node)
	wantCode(t, err, workflow.CodeConflict)
}

func TestRetryJob(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	node := r.node("n1")
	_, err := r.Jobs.Retry(r.ctx, r.ids[0], 1, 3)
	wantCode(t, err, workflow.CodeConflict) // it has not run
	claim := func() {
		jobs, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 1, nil)
		r.must(err)
		if len(jobs) != 1 {
			t.Fatalf("claimed %d jobs", len(jobs))
		}
		_, err = r.Jobs.Start(r.ctx, r.ids[0], 1, node)
		r.must(err)
	}
	for attempt := int64(2); attempt <= 3; attempt++ {
		claim()
		j, err := r.Jobs.Retry(r.ctx, r.ids[0], 1, 3)
		r.must(err)
		if j.Status != workflow.Ready || j.AttemptID != attempt || j.Origin == nil || *j.Origin != workflow.OriginRetry {
			t.Errorf("retried: %+v", j)
		}
	}
	claim()
	_, err = r.Jobs.Retry(r.ctx, r.ids[0], 1, 3)
	wantCode(t, err, workflow.CodeConflict)
	_, err = r.Jobs.Retry(r.ctx, r.ids[0], 2, 9)
	wantCode(t, err, workflow.CodeConflict)
	last := r.completion(0, node, workflow.Failed, 1)
	last.Result.AttemptID = 3
	_, err = r.Jobs.Complete(r.ctx, last)
	r.must(err)
	r.want(workflow.Failed, workflow.Canceled)
	// A retry after the end reopens the run.
	_, err = r.Jobs.Retry(r.ctx, r.ids[0], 1, 9)
	r.must(err)
	r.want(workflow.Ready, workflow.Blocked)
	claim()
	last = r.completion(0, node, workflow.Completed, 0)
	last.Result.AttemptID = 4
	_, err = r.Jobs.Complete(r.ctx, last)
	r.must(err)
	r.want(workflow.Completed, workflow.Ready)
	claimed, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 9, nil)
	r.must(err)
	if len(claimed) != 1 {
		t.Fatalf("claimed %d jobs", len(claimed))
	}
	_, err = r.Jobs.Complete(r.ctx, r.completion(1, node, workflow.Completed, 0))
	r.must(err)
	if n := r.number(`SELECT COUNT(*) FROM verdict`); n != 2 {
		t.Errorf("%d verdicts, want one for each generation", n)
	}
}

func TestManageStatusChange(t *testing.T) {
	r := newRig(t, chainOf(3)...)
	h := r.hand("n1", 1)
	_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.Completed, 9)
	wantCode(t, err, workflow.CodeInvalid)
	_, err = r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.Pending, 9)
	wantCode(t, err, workflow.CodeConflict)
	_, err = r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.Ready, 9)
	r.must(err) // it is ready already
	_, err = r.Jobs.ManageStatusChange(r.ctx, r.ids[1], workflow.Ready, 1)
	r.must(err)
	r.want(workflow.Ready, workflow.Blocked, workflow.Blocked) // it still waits
	h.turn()
	h.held[0].StartedMS = 5
	h.turn()
	_, err = r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.Ready, 1)
	r.must(err)
	r.want(workflow.Ready, workflow.Blocked, workflow.Blocked)
	if diff := cmp.Diff([]int64{h.id}, r.changes[len(r.changes)-1].Runners); diff != "" {
		t.Errorf("runners that must hear (-want +got):\n%s", diff)
	}
	answer := h.turn()
	if len(answer.Voided) != 1 || len(answer.Grants) != 1 || answer.Grants[0].Attempt != 2 {
		t.Errorf("answer: %+v", answer)
	}
	h.held = h.held[1:]
	h.turn(exited(h.held[0].LeaseRef, 0))
	h.turn(exited(h.held[0].LeaseRef, 0))
	h.turn(exited(h.held[0].LeaseRef, 0))
	r.want(workflow.Completed, workflow.Completed, workflow.Completed)
	_, err = r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.Uninitialized, 1)
	r.must(err)
	r.want(workflow.Uninitialized, workflow.Uninitialized, workflow.Completed)
}

func TestClaimByResources(t *testing.T) {
	cpus := func(n int64) rigJob { return rigJob{needs: workflow.ResourceRequirements{NumCPUs: n}} }
	for _, test := range []struct {
		name   string
		jobs   []rigJob
		limit  int64
		have   Resources
		strict bool
		want   []int
	}{
		{"order", []rigJob{cpus(1), cpus(2), {priority: 1}}, 9, Resources{CPUs: 4, Nodes: 1}, false, []int{2, 1, 0}},
		{"limit", []rigJob{cpus(1), cpus(1), cpus(1)}, 2, Resources{CPUs: 4, Nodes: 1}, false, []int{0, 1}},
		{"limit 0", independent(1), 0, Resources{CPUs: 4, Nodes: 1}, false, nil},
		{"a large one is passed over", []rigJob{{priority: 5, needs: workflow.ResourceRequirements{NumCPUs: 9}}, cpus(1)}, 9, Resources{CPUs: 4, Nodes: 1}, false, []int{1}},
		{"no fragmentation", []rigJob{cpus(3), cpus(3), cpus(2)}, 9, Resources{CPUs: 4, Nodes: 2}, false, []int{0, 1}},
		{"backfill", []rigJob{cpus(4), cpus(3), cpus(3), cpus(1)}, 3, Resources{CPUs: 8, Nodes: 1}, false, []int{0, 1, 3}},
		{"labels", []rigJob{{labels: "a"}, {labels: "a,b"}, {labels: "c"}, {}}, 9, Resources{CPUs: 9, Nodes: 1, Labels: []string{"b", "a"}}, false, []int{0, 1}},
		{"no labels", []rigJob{{labels: "a"}, {}}, 9, Resources{CPUs: 9, Nodes: 1}, false, []int{1}},
		{"another scheduler, if there is nothing else", []rigJob{{scheduler: 5}}, 9, Resources{CPUs: 9, Nodes: 1, SchedulerConfigID: new(int64(6))}, false, []int{0}},
		{"strict", []rigJob{{scheduler: 5}}, 9, Resources{CPUs: 9, Nodes: 1, SchedulerConfigID: new(int64(6))}, true, nil},
		{"time", independent(1), 9, Resources{CPUs: 9, Nodes: 1, TimeLimitSeconds: new(int64(59))}, false, nil},
		{"equal classes by id", []rigJob{{labels: "a"}, {labels: "b"}, {labels: "a"}}, 2, Resources{CPUs: 9, Nodes: 1, Labels: []string{"a", "b"}}, false, []int{0, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, test.jobs...)
			jobs, _, err := r.Jobs.ClaimByResources(r.ctx, r.workflow, test.limit, test.have, test.strict)
			r.must(err)
			var got []int
			for _, j := range jobs {
				got = append(got, int(j.ID-r.ids[0]))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("claimed (-want +got):\n%s", diff)
			}
			r.check()
		})
	}
}

func TestClaimNextJobs(t *testing.T) {
	r := newRig(t, rigJob{needs: workflow.ResourceRequirements{NumCPUs: 99}}, rigJob{priority: 2}, rigJob{}, rigJob{labels: "x"})
	if _, err := r.Jobs.ClaimNext(r.ctx, r.workflow, -1, nil); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("negative limit: %v", err)
	}
	if _, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 1, []string{"a,b"}); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("bad label: %v", err)
	}
	jobs, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 2, nil)
	r.must(err)
	if len(jobs) != 2 || jobs[0].ID != r.ids[1] || jobs[1].ID != r.ids[0] {
		t.Errorf("claimed: %+v", jobs)
	}
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET is_canceled = 1, is_halted = 1 WHERE id = ?`, r.workflow)
	})
	_, reason, err := r.Jobs.ClaimByResources(r.ctx, r.workflow, 2, Resources{CPUs: 9, Nodes: 1}, false)
	if err != nil || reason != "Workflow is canceled" {
		t.Errorf("reason %q, %v", reason, err)
	}
}
