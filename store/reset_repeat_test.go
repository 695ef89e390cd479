package store

import (
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// repeated are the jobs of a diamond with two failed ones, as a caller has seen them.
func repeated(n *nouns) (g *jobGraph, seen []JobAt) {
	g = n.begun(completed, failed, failed)
	return g, []JobAt{{g.jobs[1], workflow.Failed}, {g.jobs[2], workflow.Failed}}
}

// TestRepeatJobs: failed jobs run again in a new run, with those behind them; jobs that
// somebody has changed in the meantime stay, and are named.
func TestRepeatJobs(t *testing.T) {
	n := newNouns(t)
	g, seen := repeated(n)
	g.force(2, workflow.Canceled)
	left, err := n.Workflows.RepeatJobs(n.ctx, g.workflow, 1, seen, "me")
	n.must(err)
	if len(left) != 1 || left[0].ID != g.jobs[2] || left[0].Status != workflow.Canceled {
		t.Errorf("left %+v", left)
	}
	want := []workflow.JobStatus{workflow.Completed, workflow.Ready, workflow.Canceled, workflow.Blocked}
	if got := g.statuses(); !slices.Equal(got, want) {
		t.Errorf("jobs are %v, want %v", got, want)
	}
	w, err := n.Workflows.Get(n.ctx, g.workflow)
	if n.must(err); w.RunID != 2 {
		t.Errorf("run %d", w.RunID)
	}
	_, err = n.Workflows.RepeatJobs(n.ctx, g.workflow, 1, seen, "me")
	wantCode(t, err, workflow.CodeConflict)
}

// TestRepeatJobsIsAllOrNothing: if one job cannot run again, none does, and no run has
// started.
func TestRepeatJobsIsAllOrNothing(t *testing.T) {
	n := newNouns(t)
	g, seen := repeated(n)
	before := g.statuses()
	seq, err := n.Events.LastSeq(n.ctx, g.workflow)
	n.must(err)
	refused := func(seen []JobAt, code workflow.Code) {
		t.Helper()
		left, err := n.Workflows.RepeatJobs(n.ctx, g.workflow, 1, seen, "me")
		wantCode(t, err, code)
		w, err := n.Workflows.Get(n.ctx, g.workflow)
		n.must(err)
		now, err := n.Events.LastSeq(n.ctx, g.workflow)
		n.must(err)
		if got := g.statuses(); len(left) > 0 || w.RunID != 1 || now != seq || !slices.Equal(got, before) {
			t.Errorf("refused, and run %d, events up to %d instead of %d, jobs %v instead of %v, left %v", w.RunID, now, seq, got, before, left)
		}
	}
	refused(append(seen, JobAt{n.job(n.other), workflow.Ready}), workflow.CodeInvalid)
	refused(append(seen, JobAt{1 << 40, workflow.Ready}), workflow.CodeNotFound)
	// Only the last job cannot be reset; by then the run has started.
	n.stopAt(g.jobs[2])
	refused(seen, workflow.CodeInternal)
}
