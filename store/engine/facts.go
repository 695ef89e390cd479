package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// Facts is what a decision about a job rests on, and what the database needs to carry
// it out.
type Facts struct {
	retry.Facts
	asks asks // where the decision needs it
}

// factsOf gathers the facts about the end of an attempt. Only what has failed costs
// a query.
func (f *Finisher) factsOf(l *core.LeasedJob, e *Ending) (*Facts, error) {
	g := f.NewFacts(l)
	g.History.ReportedByOld = e.Client != nil
	if e.Cause.Status.IsUnsuccessful() {
		if err := f.categorize(e); err != nil {
			return nil, err
		}
	}
	g.Failure = e.failure(l)
	if e.Cause.Status.IsUnsuccessful() {
		if err := noteFailure(f, &g.Failure); err != nil {
			return nil, err
		}
	}
	var err error
	if e.Cause.Status.IsUnsuccessful() && e.Client == nil {
		if g.Policies, err = f.Policies(l.JobID, l.RunnerID, &g.History); err != nil {
			return nil, err
		}
	}
	if g.Doom, err = doomOf(f, l); err != nil {
		return nil, err
	}
	return g, f.complete(l, g)
}

// NewFacts are those that are always known.
func (f *Finisher) NewFacts(l *core.LeasedJob) *Facts {
	return &Facts{Facts: retry.Facts{JobID: l.JobID, RunID: f.Run.RunID, NowMS: f.tx.NowMS, History: workflow.History{AttemptID: l.Attempt}}}
}

// complete gathers what else the decision needs.
func (f *Finisher) complete(l *core.LeasedJob, g *Facts) (err error) {
	needs := g.Needs()
	if needs.Breakers {
		if g.Breakers, err = TripsOf(f.tx, f.Run); err != nil {
			return err
		}
	}
	if needs.Avoided {
		if g.Avoided, err = avoided(f.tx, l.JobID); err != nil {
			return err
		}
	}
	if needs.Demand {
		g.asks, g.Demand, err = demandOf(f.tx, l)
	}
	return err
}

// demandOf returns what a job asks for, and where it could have more.
func demandOf(tx *core.Tx, l *core.LeasedJob) (asks, *placement.JobDemand, error) {
	a, byHand, err := loadAsks(tx, l)
	if err != nil {
		return a, nil, err
	}
	d := &placement.JobDemand{Requirements: a.requirements, ByHand: byHand, Places: tx.Shared.Places.Of(l.WorkflowID)}
	if !a.requirements.Enforced() { // it is no request, and does not grow
		return a, d, nil
	}
	if d.Class, err = a.class(); err != nil {
		return a, nil, fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	d.Runners, err = runnerFacts(tx, l.WorkflowID)
	return a, d, err
}

// runnerFacts returns what the live runners of a workflow have.
func runnerFacts(tx *core.Tx, workflowID int64) ([]placement.RunnerFacts, error) {
	rows, err := tx.Query(view.SelectRunnerFacts, workflowID)
	if err != nil {
		return nil, fmt.Errorf("look for runners of workflow %d: %w", workflowID, err)
	}
	runners, err := sqlite.Collect(rows, func(r sqlite.Scanner) (placement.RunnerFacts, error) { return view.ScanRunnerFacts(r, tx.NowMS) })
	if err != nil {
		return nil, fmt.Errorf("look for runners of workflow %d: %w", workflowID, err)
	}
	return runners, nil
}
