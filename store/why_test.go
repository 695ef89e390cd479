package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
)

// attempt inserts the record of an attempt in run 1.
func (n *nouns) attempt(job, attempt int64, status workflow.JobStatus, cause workflow.CauseKind, action workflow.Action) {
	n.t.Helper()
	n.insert(`INSERT INTO attempt (job_id, run_id, attempt_id, workflow_id, fence, hostname, start_ms, end_ms, status, return_code,
			cause, confidence, cause_text, evidence, action, reason)
		VALUES (?, 1, ?, ?, 1, 'n1', 1000, 3000, ?, 10, ?, 'certain', 'exit code 10', '{"exit_code":10}', ?, 'because')`,
		job, attempt, n.workflow, status, cause, action)
	retried := action == workflow.ActionRetry || action == workflow.ActionRecover
	n.insert(`INSERT INTO cause_count VALUES (?, 1, ?, 1, ?, 0) ON CONFLICT DO UPDATE SET n = n + 1, retried = retried + excluded.retried`,
		n.workflow, cause, retried)
}

// scene is a run in which something of everything has happened.
func (n *nouns) scene() (blocked, ready, running int64) {
	n.t.Helper()
	n.insert(`UPDATE workflow SET run_id = 1 WHERE id = ?`, n.workflow)
	small, big := n.requirements("small"), n.requirements("big")
	n.insert(`UPDATE resource_requirements SET num_cpus = 64 WHERE id = ?`, big.ID)
	failed := n.addJob(n.workflow, small.ID, workflow.Failed)
	n.attempt(failed, 1, workflow.Failed, workflow.CauseExit, workflow.ActionRetry)
	n.attempt(failed, 2, workflow.Failed, workflow.CauseExit, workflow.ActionFail)
	n.insert(`UPDATE job SET name = 'broken', attempt_id = 2 WHERE id = ?`, failed)
	running = n.addJob(n.workflow, small.ID, workflow.Running)
	n.insert(`UPDATE job SET name = 'busy', compute_node_id = ?, start_ms = 5000 WHERE id = ?`, n.node(n.workflow), running)
	for range 2 {
		ready = n.addJob(n.workflow, big.ID, workflow.Ready)
	}
	n.insert(`UPDATE job SET not_before_ms = ? WHERE id = ?`, n.now.UnixMilli()+5000, n.addJob(n.workflow, small.ID, workflow.Ready))

	gate := n.insert(`INSERT INTO gate (workflow_id, hash, open, failed) VALUES (?, x'00', 1, 1)`, n.workflow)
	for _, job := range []int64{failed, running} {
		n.insert(`INSERT INTO gate_dependency (job_id, gate_id) VALUES (?, ?)`, job, gate)
	}
	blocked = n.addJob(n.workflow, small.ID, workflow.Blocked)
	n.insert(`UPDATE job SET gate_id = ? WHERE id = ?`, gate, blocked)
	n.insert(`INSERT INTO job_count (workflow_id, status, n) SELECT workflow_id, status, COUNT(*) FROM job GROUP BY workflow_id, status`)
	return blocked, ready, running
}

func TestJobFacts(t *testing.T) {
	n := newNouns(t)
	blocked, ready, running := n.scene()

	f, err := n.Jobs.Facts(n.ctx, blocked)
	n.must(err)
	if f.Dependencies != 2 || f.OpenCount != 1 || f.UnsuccessfulCount != 1 {
		t.Errorf("%d dependencies, %d open, %d unsuccessful; want 2, 1, 1", f.Dependencies, f.OpenCount, f.UnsuccessfulCount)
	}
	if diff := cmp.Diff([]explain.DependencyFact{{Name: "busy", Status: workflow.Running}}, f.Open); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]explain.DependencyFact{{Name: "broken", Status: workflow.Failed}}, f.Unsuccessful); diff != "" {
		t.Errorf("unsuccessful (-want +got):\n%s", diff)
	}

	f, err = n.Jobs.Facts(n.ctx, ready)
	n.must(err)
	if f.Class.CPUs != 64 || f.ReadyAhead != 1 || len(f.Runners) != 1 {
		t.Errorf("class %+v, %d ahead, runners %+v; want 64 CPUs, the other big job ahead, one runner", f.Class, f.ReadyAhead, f.Runners)
	}
	total, free := f.Runners[0].Total.Nodes[0], f.Runners[0].Free.Nodes[0]
	if total.CPUs != 4 || free.CPUs != 2 || free.MemoryBytes != 4<<30 || !free.Busy {
		t.Errorf("the runner has %+v, free %+v", total, free)
	}

	f, err = n.Jobs.Facts(n.ctx, running)
	n.must(err)
	if len(f.Attempts) != 1 || f.Attempts[0].EndedMS != nil || f.RunnerHost != "n1" {
		t.Errorf("attempts %+v on %s; want the one that runs on n1", f.Attempts, f.RunnerHost)
	}
	_, err = n.Jobs.Facts(n.ctx, 99)
	wantCode(t, err, workflow.CodeNotFound)
}

func TestWorkflowFacts(t *testing.T) {
	n := newNouns(t)
	n.scene()
	f, err := n.Workflows.Facts(n.ctx, n.workflow)
	n.must(err)
	if f.Counts.Total() != 6 || f.Counts.Retried != 1 || f.Counts.ByCause[workflow.CauseExit] != 2 || f.FailedCount != 1 {
		t.Errorf("counts %+v, %d failed", f.Counts, f.FailedCount)
	}
	if len(f.Ready) != 1 || f.Ready[0].Jobs != 2 || f.Waiting != 1 || f.WaitingMS != 5000 {
		t.Errorf("ready %+v, %d waiting, the first for %d ms", f.Ready, f.Waiting, f.WaitingMS)
	}
	want := []explain.FailureFact{{Name: "broken", Attempt: 2, Cause: workflow.Cause{
		Kind: workflow.CauseExit, Confidence: workflow.Certain, Status: workflow.Failed, ReturnCode: 10, Text: "exit code 10",
	}}}
	if diff := cmp.Diff(want, f.Failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	_, err = n.Workflows.Facts(n.ctx, 99)
	wantCode(t, err, workflow.CodeNotFound)
}

func TestJobAttempts(t *testing.T) {
	n := newNouns(t)
	n.scene()
	broken := n.count(`SELECT id FROM job WHERE name = 'broken'`)
	attempts, err := n.Jobs.Attempts(n.ctx, broken)
	n.must(err)
	if len(attempts) != 2 || attempts[0].Decision.Action != workflow.ActionRetry || *attempts[1].Evidence.ExitCode != 10 {
		t.Errorf("attempts %+v", attempts)
	}
	_, err = n.Jobs.Attempts(n.ctx, 99)
	wantCode(t, err, workflow.CodeNotFound)
}
