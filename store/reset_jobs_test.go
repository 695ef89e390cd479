package store

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// begun is a diamond at run 1, whose jobs have the given statuses.
func (n *nouns) begun(statuses ...workflow.JobStatus) *jobGraph {
	g := n.graph(diamond())
	_, err := n.Workflows.Reset(n.ctx, g.workflow, false, "me")
	n.must(err)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	for i, to := range statuses {
		g.force(i, to)
	}
	return g
}

// stopAt has the database reject a change of the status of a job, as if it were damaged.
func (n *nouns) stopAt(job int64) {
	n.must(n.shared.Do("test", func(tx *core.Tx) error {
		_, err := tx.Exec(fmt.Sprintf(`CREATE TRIGGER stop BEFORE UPDATE OF status ON job WHEN old.id = %d BEGIN SELECT RAISE(ABORT, 'stop'); END`, job))
		return err
	}))
}

// unchanged does something that changes nothing of a workflow.
func (g *jobGraph) unchanged(what string, do func()) {
	g.t.Helper()
	state := func() (int64, int64, []workflow.JobStatus) {
		w, err := g.Workflows.Get(g.ctx, g.workflow)
		g.must(err)
		seq, err := g.Events.LastSeq(g.ctx, g.workflow)
		g.must(err)
		return w.RunID, seq, g.statuses()
	}
	run, seq, before := state()
	do()
	if now, events, after := state(); now != run || events != seq || !slices.Equal(after, before) {
		g.t.Errorf("%s: run %d instead of %d, events up to %d instead of %d, jobs %v instead of %v", what, now, run, events, seq, after, before)
	}
	g.checkCounters()
}

func TestResetChosen(t *testing.T) {
	n := newNouns(t)
	g := n.begun(completed, failed, completed)
	o := JobsResetOptions{RunID: 1, Expected: []JobAt{{g.jobs[1], failed}}, Initialize: true, User: "me"}
	g.unchanged("a proposal", func() {
		p, err := n.Workflows.ProposeResetChosen(n.ctx, g.workflow, g.jobs[1:2], o)
		if n.must(err); !slices.Equal(p.Reset, g.jobs[1:2]) || !p.Initialized || p.Obstacle != nil {
			t.Errorf("proposed %+v", p)
		}
	})
	done, err := n.Workflows.ResetChosen(n.ctx, g.workflow, g.jobs[1:2], o)
	if n.must(err); !slices.Equal(done.Reset, g.jobs[1:2]) || !done.Initialized || len(done.Refused) > 0 || done.NotInitialized != nil {
		t.Errorf("done %+v", done)
	}
	g.want("afterwards", completed, ready, completed, blocked)
	g.unchanged("repeated", func() {
		_, err := n.Workflows.ResetChosen(n.ctx, g.workflow, g.jobs[1:2], o)
		wantCode(t, err, workflow.CodeConflict) // run 2 has begun
	})
}

// TestResetChosenIsRefused: jobs of others, jobs that have changed, and active ones.
func TestResetChosenIsRefused(t *testing.T) {
	n := newNouns(t)
	g := n.begun(completed, failed)
	refused := func(what string, o JobsResetOptions, code workflow.Code, jobs ...int64) {
		t.Helper()
		g.unchanged(what, func() {
			t.Helper()
			_, err := n.Workflows.ResetChosen(n.ctx, g.workflow, jobs, o)
			wantCode(t, err, code)
		})
	}
	refused("another run", JobsResetOptions{RunID: 2}, workflow.CodeConflict, g.jobs[0])
	refused("a job of another workflow", JobsResetOptions{RunID: 1}, workflow.CodeInvalid, g.jobs[0], n.job(n.other))
	refused("a job that does not exist", JobsResetOptions{RunID: 1}, workflow.CodeNotFound, g.jobs[0], 1<<40)
	refused("a job that has changed", JobsResetOptions{RunID: 1, Expected: []JobAt{{g.jobs[1], completed}}}, workflow.CodeConflict, g.jobs[0])
	g.force(2, running)
	refused("a running job", JobsResetOptions{RunID: 1}, workflow.CodeConflict, g.jobs[1], g.jobs[2])
	g.force(2, failed)
	_, err := n.ComputeNodes.Create(n.ctx, compute.Node{
		WorkflowID: g.workflow, Hostname: "here", PID: 1, StartTime: "2026-11-21T10:00:00Z", IsActive: true, NumCPUs: 8, MemoryGB: 16, NumNodes: 1, Type: "local",
	})
	n.must(err)
	refused("while a runner is at work", JobsResetOptions{RunID: 1}, workflow.CodeConflict, g.jobs[1])
	g.unchanged("a proposal", func() {
		p, err := n.Workflows.ProposeResetChosen(n.ctx, g.workflow, g.jobs[1:2], JobsResetOptions{RunID: 1})
		if n.must(err); p.Obstacle == nil || len(p.Reset) != 1 {
			t.Errorf("proposed %+v", p)
		}
	})
	done, err := n.Workflows.ResetChosen(n.ctx, g.workflow, g.jobs[1:2], JobsResetOptions{RunID: 1, Force: true, Expected: []JobAt{{g.jobs[1], completed}}})
	if n.must(err); len(done.Reset) != 1 || done.Obstacle == nil {
		t.Errorf("forced: %+v", done)
	}
	g.want("forced", completed, uninitialized, failed, blocked)
}

// TestResetChosenNamesWhatItLeaves: a job that cannot be reset stays, and so does the
// run; the others are reset.
func TestResetChosenNamesWhatItLeaves(t *testing.T) {
	s := newStaged(t, nested())
	_, err := s.Workflows.ResetJobs(s.ctx, s.workflow, false, "me")
	s.must(err)
	for _, name := range []string{"out/in", "after"} {
		_, err := s.Jobs.Update(s.ctx, s.id(name), workflow.JobUpdate{Status: new(workflow.Disabled)})
		s.must(err)
	}
	left := map[string]workflow.JobStatus{"out/in/x": s.status("out/in/x")} // its sub-workflow is in one that has not started
	jobs := []int64{s.id("out/in/x"), s.id("after")}
	for _, reset := range []func(context.Context, int64, []int64, JobsResetOptions) (JobsReset, error){s.Workflows.ProposeResetChosen, s.Workflows.ResetChosen} {
		done, err := reset(s.ctx, s.workflow, jobs, JobsResetOptions{RunID: 1, Force: true, Initialize: true})
		if s.must(err); !slices.Equal(done.Reset, jobs[1:]) || len(done.Refused) != 1 || done.Refused[0].JobID != jobs[0] || done.Initialized {
			t.Errorf("done %+v", done)
		}
		s.statusOf(left)
	}
	s.statusOf(map[string]workflow.JobStatus{"after": uninitialized})
	s.sound(check.Witness{})
}

// TestResetChosenWithoutRun: where no run can start, the jobs are reset nevertheless.
func TestResetChosenWithoutRun(t *testing.T) {
	n := newNouns(t)
	g := n.begun(completed, failed)
	_, err := n.ScheduledComputeNodes.Create(n.ctx, compute.ScheduledNode{WorkflowID: g.workflow, SchedulerType: "slurm", Status: "active"})
	n.must(err)
	done, err := n.Workflows.ResetChosen(n.ctx, g.workflow, g.jobs[:1], JobsResetOptions{RunID: 1, Initialize: true})
	if n.must(err); len(done.Reset) != 1 || done.Initialized || workflow.CodeOf(done.NotInitialized) != workflow.CodeInvalid {
		t.Errorf("done %+v", done)
	}
	w, err := n.Workflows.Get(n.ctx, g.workflow)
	if n.must(err); w.RunID != 1 {
		t.Errorf("run %d has begun", w.RunID)
	}
	g.want("reset", uninitialized, uninitialized, blocked, blocked)
}

// TestResetsAreAllOrNothing: if something fails in the middle, no job is reset and no run
// has started.
func TestResetsAreAllOrNothing(t *testing.T) {
	n := newNouns(t)
	g := n.begun(completed, failed, failed)
	n.stopAt(g.jobs[2])
	g.unchanged("chosen jobs", func() {
		_, err := n.Workflows.ResetChosen(n.ctx, g.workflow, g.jobs, JobsResetOptions{RunID: 1, Initialize: true})
		wantCode(t, err, workflow.CodeInternal)
	})
	g.unchanged("a workflow", func() {
		_, _, err := n.Workflows.ResetAll(n.ctx, g.workflow, ResetOptions{RunID: 1})
		wantCode(t, err, workflow.CodeInternal)
	})
	// Only the initialization fails: the jobs were uninitialized before.
	g = n.begun()
	_, err := n.Workflows.ResetJobs(n.ctx, g.workflow, false, "me")
	n.must(err)
	n.must(n.shared.Do("test", func(tx *core.Tx) error {
		if _, err := tx.Exec(`DROP TRIGGER stop`); err != nil {
			return err
		}
		_, err := tx.Exec(`CREATE TRIGGER stop BEFORE UPDATE OF status ON job BEGIN SELECT RAISE(ABORT, 'stop'); END`)
		return err
	}))
	g.unchanged("initialized", func() {
		_, _, err := n.Workflows.ResetAll(n.ctx, g.workflow, ResetOptions{RunID: 1, Initialize: true})
		wantCode(t, err, workflow.CodeInternal)
	})
}

func TestResetAll(t *testing.T) {
	n := newNouns(t)
	g := n.begun(completed, failed)
	o := ResetOptions{RunID: 1, FailedOnly: true, Initialize: true, User: "me"}
	g.unchanged("a proposal", func() {
		w, jobs, err := n.Workflows.ProposeReset(n.ctx, g.workflow, o)
		if n.must(err); w.RunID != 2 || jobs != 1 {
			t.Errorf("proposed run %d with %d jobs", w.RunID, jobs)
		}
	})
	w, jobs, err := n.Workflows.ResetAll(n.ctx, g.workflow, o)
	if n.must(err); w.RunID != 2 || jobs != 1 {
		t.Errorf("run %d with %d jobs", w.RunID, jobs)
	}
	g.want("afterwards", completed, ready, ready, blocked)
	g.unchanged("repeated", func() {
		_, _, err := n.Workflows.ResetAll(n.ctx, g.workflow, o)
		wantCode(t, err, workflow.CodeConflict)
	})
}
