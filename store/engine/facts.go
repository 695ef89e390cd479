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

// Facts are the facts of a decision about a job, and what the store needs to carry it out.
type Facts struct {
	retry.Facts
	asks asks // if the decision needs them
}

// factsOf returns the facts about the end of an attempt. Only failures cost a query.
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

// NewFacts returns the facts that need no query.
func (f *Finisher) NewFacts(l *core.LeasedJob) *Facts {
	return &Facts{Facts: retry.Facts{JobID: l.JobID, RunID: f.Run.RunID, NowMS: f.tx.NowMS, History: workflow.History{AttemptID: l.Attempt}}}
}

// complete adds the facts that the decision needs besides.
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
		g.asks, g.Demand, err = demandOf(f.tx, l, g.Retried != nil)
	}
	return err
}

// demandOf returns the requirements of a job, and the places where it could get more. Named says
// that a user or an agent names the requirements: runners of the past limit these if there is no
// other place, while a rule may hope for a larger one.
func demandOf(tx *core.Tx, l *core.LeasedJob, named bool) (asks, *placement.JobDemand, error) {
	a, byHand, err := loadAsks(tx, l)
	if err != nil {
		return a, nil, err
	}
	d := &placement.JobDemand{Requirements: a.requirements, ByHand: byHand, Places: tx.Shared.Places.Of(l.WorkflowID)}
	if !a.requirements.Enforced() { // not requested from Slurm, so it does not grow
		return a, d, nil
	}
	if d.Class, err = a.class(); err != nil {
		return a, nil, fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	if d.Runners, err = runnerFacts(tx, l.WorkflowID, view.SelectRunnerFacts); err == nil && named && byHand && len(d.Runners) == 0 {
		d.Past, err = runnerFacts(tx, l.WorkflowID, view.SelectPastRunnerFacts)
	}
	return a, d, err
}

// runnerFacts returns the resources of runners of a workflow.
func runnerFacts(tx *core.Tx, workflowID int64, query string) ([]placement.RunnerFacts, error) {
	runners, err := sqlite.Select(tx, func(r sqlite.Scanner) (placement.RunnerFacts, error) { return view.ScanRunnerFacts(r, tx.NowMS) },
		query, workflowID)
	return runners, sqlite.Wrap(err, "read the runners of workflow %d", workflowID)
}
