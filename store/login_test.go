package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// withLoginEnd is a job and an end job that runs on the daemon's host.
func withLoginEnd(tb testing.TB) *workflow.Definition {
	tb.Helper()
	end, err := (&workflow.EndJob{Command: "true", Where: workflow.EndOnLogin}).Job("end", 1)
	if err != nil {
		tb.Fatal(err)
	}
	return &workflow.Definition{
		SubmissionDirectory: "/home/me",
		Stages:              []workflow.StageDefinition{{Kind: workflow.StageEnd, Name: "end"}},
		Jobs:                []workflow.JobDefinition{job("a", inMain), end},
	}
}

// loginWork lists what the daemon has to run on its own host.
func (s *staged) loginWork() []LoginWork {
	s.tb.Helper()
	work, err := s.Runners.LoginWork(s.ctx)
	s.must(err)
	return work
}

// Jobs of the daemon's host are for runners there, whoever started them.
func TestLoginJobsRunOnTheDaemonsHost(t *testing.T) {
	s := newStaged(t, withLoginEnd(t))
	allocation := s.handOf("n2", 1, compute.SchedulerSlurm, placement.LoginNone)
	only := s.handOf("login1", 4, compute.SchedulerLocal, placement.LoginOnly)
	if answer := only.turn(); len(answer.Grants) != 0 || answer.ClaimableLater {
		t.Fatalf("the runner for jobs of the daemon's host: %+v", answer)
	}
	_, err := s.Runners.Leave(s.ctx, only.id, lease.LeaveRequest{})
	s.must(err)
	if work := s.loginWork(); len(work) != 0 {
		t.Errorf("before the end: %+v", work)
	}
	answer := s.end(s.node.turn(), nil)
	if s.status("end") != workflow.Ready || len(answer.Grants) != 0 || !answer.ClaimableLater {
		t.Fatalf("a person's runner elsewhere, which waits for the verdict: %+v", answer)
	}
	if answer := allocation.turn(); len(answer.Grants) != 0 || answer.ClaimableLater {
		t.Errorf("a runner in an allocation, which can go: %+v", answer)
	}
	if jobs, err := s.Jobs.ClaimNext(s.ctx, s.workflow, 5, nil); err != nil || len(jobs) != 0 {
		t.Errorf("torc's clients get %v, %v", jobs, err)
	}
	demand := s.demandOf(time.Minute)
	if len(demand.Classes) != 0 || demand.Running != 0 {
		t.Errorf("demand for allocations: %+v", demand)
	}
	if open, err := s.Workflows.HaveOpenWork(s.ctx); err != nil || !open {
		t.Errorf("open work: %v, %v", open, err)
	}
	want := []LoginWork{{WorkflowID: s.workflow, OutputDir: "/out", Dir: "/home/me"}}
	if diff := cmp.Diff(want, s.loginWork()); diff != "" {
		t.Errorf("work for the daemon's host (-want +got):\n%s", diff)
	}
	s.changes = nil
	s.node = s.handOf("login1", 1, compute.SchedulerLocal, placement.LoginOnly)
	if work := s.loginWork(); len(work) != 0 {
		t.Errorf("with a runner there: %+v", work)
	}
	answer = s.node.turn()
	if len(answer.Grants) != 1 || answer.Grants[0].Input == nil {
		t.Fatalf("its runner: %+v", answer)
	}
	s.sound(check.Witness{})
	if demand := s.demandOf(time.Minute); demand.Running != 0 {
		t.Errorf("demand while it runs: %+v", demand)
	}
	s.end(answer, nil)
	if v := s.ended(); v.EventType != string(workflow.EventWorkflowCompleted) {
		t.Errorf("verdict: %+v", v)
	}
	s.sound(check.Witness{})
}

// A runner that somebody started on the daemon's host takes them with its others.
func TestLoginJobsNeedNoOtherRunner(t *testing.T) {
	s := newStaged(t, withLoginEnd(t))
	s.node = s.handOf("login1", 2, compute.SchedulerLocal, placement.LoginAlso)
	if diff := cmp.Diff([]string{"a", "end"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	s.sound(check.Witness{})
}

// A job of the daemon's host that is changed still is one, and the checker finds when it
// is held elsewhere.
func TestLoginJobsStayThere(t *testing.T) {
	s := newStaged(t, withLoginEnd(t))
	s.end(s.node.turn(), nil)
	_, err := s.Jobs.Update(s.ctx, s.id("end"), workflow.JobUpdate{Priority: new(int64(7))})
	s.must(err)
	if answer := s.node.turn(); len(answer.Grants) != 0 {
		t.Errorf("granted elsewhere: %+v", answer)
	}
	s.do(func(tx *core.Tx) error {
		err := tx.ExecOne(`UPDATE job SET status = 3, compute_node_id = ?, claimed_ms = 1, fence = fence + 1 WHERE id = ?`, s.node.id, s.id("end"))
		tx.Move(s.workflow, workflow.Ready, workflow.Pending, 1)
		return err
	})
	found, err := check.Deep(s.ctx, s.Path(), check.Witness{})
	s.must(err)
	if !slices.ContainsFunc(found, func(f check.Finding) bool { return f.Promise == "place" }) {
		t.Errorf("the check says %+v", found)
	}
}

// If no runner on the daemon's host can run it, it fails: it does not prevent the end of
// the run.
func TestLoginJobsDoNotWaitForEver(t *testing.T) {
	s := newStaged(t, withLoginEnd(t))
	s.end(s.node.turn(), nil)
	s.pass(time.Hour)
	if v := s.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.EndJob == nil {
		t.Errorf("verdict: %+v", v)
	}
	s.sound(check.Witness{})
}

// Runners in allocations stay for what follows an end job of the daemon's host.
func TestRunnersStayForWhatFollowsALoginJob(t *testing.T) {
	d := withUndo()
	end := withLoginEnd(t).Jobs[1]
	d.Stages = append(d.Stages, workflow.StageDefinition{Kind: workflow.StageEnd, Name: "end"})
	end.Stage = int32(len(d.Stages))
	d.Jobs = append(d.Jobs, end)
	s := newStaged(t, d)
	s.node = s.handOf("n2", 1, compute.SchedulerSlurm, placement.LoginNone)
	s.end(s.end(s.node.turn(), nil), nil)
	if answer := s.node.turn(); s.status("end") != workflow.Ready || !answer.ClaimableLater {
		t.Errorf("a runner that may have to undo the run: %+v", answer)
	}
}
