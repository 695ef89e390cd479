package fleet

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Turn processes a runner's report and grants it jobs. It may be repeated: reports have no
// second effect, and lost grants are granted again. A turn older than one that had an
// effect can still report, but is granted nothing. A runner of an earlier run is told to
// leave.
func (s Runners) Turn(_ context.Context, runnerID int64, t lease.TurnRequest) (lease.TurnResponse, error) {
	var answer lease.TurnResponse
	err := s.shared.Do("turn", func(tx *core.Tx) error {
		c, err := ProcessTurn(tx, runnerID, &t)
		if err != nil {
			return err
		}
		answer = c.Answer
		return nil
	})
	return answer, err
}

// Conversation is the state of one turn.
type Conversation struct {
	tx       *core.Tx
	turn     *lease.TurnRequest
	runner   core.Runner
	run      *view.Run
	leases   core.Leases
	finisher *engine.Finisher
	effect   bool // something was written
	stop     bool // the runner was considered dead, or has left: its jobs go to others
	Answer   lease.TurnResponse
	// heldForGood says that claims are held for longer than the runner will last, as far as
	// is known.
	heldForGood bool

	inAllocation *compute.Allocation // nil until it is read
}

// ProcessTurn processes a turn within a transaction.
func ProcessTurn(tx *core.Tx, runnerID int64, t *lease.TurnRequest) (*Conversation, error) {
	c := &Conversation{tx: tx, turn: t, Answer: lease.TurnResponse{Turn: t.Turn}}
	var err error
	if c.runner, err = core.LoadRunner(tx, runnerID); err != nil {
		return nil, err
	}
	if c.run, err = core.LoadRun(tx, c.runner.WorkflowID); err != nil {
		return nil, err
	}
	if t.RunID > c.run.RunID {
		return nil, c.run.Require(t.RunID)
	}
	if c.leases, err = core.LoadLeases(tx, runnerID); err != nil {
		return nil, err
	}
	c.finisher = engine.NewFinisher(tx, c.run)
	steps := []func() error{c.takeNotStarted, c.takeReturned, c.takeReports, c.takeStarted, c.takeRecovered, c.compareHeld, c.confirmGone, c.grant, c.remember, c.tell}
	if t.RunID < c.run.RunID {
		steps = []func() error{c.processEarlierRun, c.confirmGone, c.tell}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("turn %d of runner %d: %w", t.Turn, runnerID, err)
		}
	}
	return c, nil
}

// current reports whether this is the newest turn. An older one lists what the runner held
// before.
func (c *Conversation) current() bool { return c.turn.Turn >= c.runner.Turn }

// takeNotStarted processes starts that are taken back; the leases stay. A job that was
// started again since has another start time.
func (c *Conversation) takeNotStarted() error {
	for _, h := range c.turn.NotStarted {
		l := c.leases.Of(h.JobID)
		if l == nil || l.LeaseRef != h.LeaseRef || l.Status != workflow.Running || l.Recovering || l.StartMS.Int64 != h.StartedMS {
			continue
		}
		if err := engine.NotStarted(c.tx, c.run, l); err != nil {
			return err
		}
		c.effect = true
	}
	return nil
}

// takeReturned processes the jobs that the runner will not start.
func (c *Conversation) takeReturned() error {
	var back []*core.LeasedJob
	for _, ref := range c.turn.GiveBack {
		l := c.leases.Of(ref.JobID)
		if l == nil || l.LeaseRef != ref || l.Status != workflow.Pending || l.Said {
			continue
		}
		l.Said = true
		if l.Recovering {
			if err := c.finisher.RecoveryLost(l, "its runner did not run the recovery script"); err != nil {
				return err
			}
			continue
		}
		back = append(back, l)
	}
	c.effect = c.effect || len(back) > 0
	return engine.ReturnLeases(c.tx, c.run, back)
}

// takeReports processes the ends of attempts.
func (c *Conversation) takeReports() error {
	host := engine.Holder{ID: &c.runner.ID, Hostname: c.runner.Hostname}
	c.Answer.Results = make([]lease.ReportResult, 0, len(c.turn.Reports)+len(c.turn.Recovered))
	for i := range c.turn.Reports {
		if err := c.explain(&c.turn.Reports[i]); err != nil {
			return err
		}
		result, err := c.finisher.Report(c.leases.Of(c.turn.Reports[i].JobID), &c.turn.Reports[i], host)
		if err != nil {
			return err
		}
		c.Answer.Results = append(c.Answer.Results, result)
	}
	return nil
}

// takeStarted processes started attempts of leases that were voided meanwhile: they count
// as attempts.
func (c *Conversation) takeStarted() error {
	var started []*core.LeasedJob
	var startMS []int64
	for _, h := range c.turn.Started {
		l := c.leases.Of(h.JobID)
		if l == nil {
			var err error
			if l, err = c.finisher.AnyLease(h.JobID); err != nil {
				return err
			}
		}
		if l == nil || l.LeaseRef != h.LeaseRef || l.Said || l.Status != workflow.Pending || l.Recovering {
			continue
		}
		l.Said = true
		started, startMS = append(started, l), append(startMS, h.StartedMS)
	}
	if len(started) == 0 {
		return nil
	}
	c.effect = true
	return engine.StartLeases(c.tx, c.run, started, startMS)
}

// takeRecovered processes the ends of recovery scripts.
func (c *Conversation) takeRecovered() error {
	for i := range c.turn.Recovered {
		result, err := c.finisher.Recovered(c.leases.Of(c.turn.Recovered[i].JobID), &c.turn.Recovered[i])
		if err != nil {
			return err
		}
		c.Answer.Results = append(c.Answer.Results, result)
	}
	return nil
}

// compareHeld compares what the runner holds with its leases. Started jobs become running,
// jobs that are not its own are voided, and running jobs that it does not list are lost.
func (c *Conversation) compareHeld() error {
	if !c.current() {
		return c.finish()
	}
	var started []*core.LeasedJob
	var startMS []int64
	for _, h := range c.turn.Held {
		l := c.leases.Of(h.JobID)
		if l == nil || l.LeaseRef != h.LeaseRef || !l.Status.IsLive() {
			if !c.run.Canceled || c.run.Compensating() { // it is told to end all of its jobs and report them
				c.Answer.Voided = append(c.Answer.Voided, h.LeaseRef)
			}
			continue
		}
		if l.Said {
			continue
		}
		if l.Said = true; l.Canceling && !h.Ending {
			c.Answer.Cancel = append(c.Answer.Cancel, h.LeaseRef)
		}
		if h.StartedMS > 0 && l.Status == workflow.Pending && !l.Recovering {
			started, startMS = append(started, l), append(startMS, h.StartedMS)
		}
	}
	if len(started) > 0 {
		c.effect = true
		if err := engine.StartLeases(c.tx, c.run, started, startMS); err != nil {
			return err
		}
	}
	for i := range c.leases {
		l := &c.leases[i]
		if l.Said || l.Status != workflow.Running {
			continue
		}
		l.Said = true
		err := c.finisher.Lost(l, engine.Holder{ID: &c.runner.ID, Hostname: c.runner.Hostname}, "its runner no longer knows it")
		if err != nil {
			return err
		}
	}
	return c.finish()
}

// finish writes the ends and their consequences.
func (c *Conversation) finish() error {
	changed, err := c.finisher.Flush()
	c.effect = c.effect || changed
	return err
}

// processEarlierRun answers a runner of an earlier run. Its reports are stored without effect. It
// has to end its jobs and leave; its leases are decided then.
func (c *Conversation) processEarlierRun() error {
	a := &c.Answer
	for i := range c.turn.Reports {
		result, err := c.finisher.PastReport(&c.turn.Reports[i], c.turn.RunID)
		if err != nil {
			return err
		}
		a.Results = append(a.Results, result)
	}
	for _, r := range c.turn.Recovered {
		a.Results = append(a.Results, lease.ReportResult{LeaseRef: r.LeaseRef, Outcome: lease.Late, Message: "a new run has started"})
	}
	for _, h := range c.turn.Held {
		a.Voided = append(a.Voided, h.LeaseRef)
	}
	c.stop = true
	return nil
}

// grant grants jobs to the runner: first those whose grants were lost, then new ones.
func (c *Conversation) grant() error {
	r := &c.runner
	c.stop = !r.IsActive
	if !r.IsActive || !c.current() || c.run.Canceled && !c.run.Compensating() {
		return nil
	}
	claim := NewClaim(c.tx, c.run.WorkflowID, r.Offer(c.turn.Free))
	claim.onlyStaged = c.run.Canceled
	claim.runner, claim.fairness = r, &c.tx.Shared.Fairness
	for i := range c.leases {
		if l := &c.leases[i]; !l.Said && l.Status == workflow.Pending {
			if err := claim.keep(l); err != nil {
				return err
			}
		}
	}
	held, err := c.claimsHeld()
	if err != nil {
		return err
	}
	kept, err := c.excludedBy()
	if err != nil {
		return err
	}
	share, err := loadHostShare(c.tx, r)
	if err != nil {
		return err
	}
	if c.Answer.ClaimsHeld = held.Reason(); len(held) == 0 && kept == nil {
		if share == nil || share.room.Alone {
			err = claim.Choose()
		} else {
			c.Answer.WaitsForHost, err = claim.chooseShared(share)
		}
	} else if len(held) == 0 {
		c.Answer.ClaimsHeld = "this node gets no jobs: " + kept.Reason
		c.heldForGood = c.runner.NodeType != compute.SchedulerLocal
	} else if until := held.UntilMS(); until == 0 || tooLate(until-c.tx.NowMS, c.turn.Free.TimeLeftSeconds) {
		c.heldForGood = true
	}
	if err != nil {
		return err
	}
	if err := claim.Take(c.run.RunID, &r.ID); err != nil {
		return err
	}
	c.effect = c.effect || len(claim.Picked) > 0
	c.Answer.Grants, err = claim.grants()
	return err
}

// claimsHeld returns why nothing is granted. A run past its deadline without live jobs is
// aborted now, while this runner is still present for its end job and its compensation.
func (c *Conversation) claimsHeld() (hold.ClaimHolds, error) {
	held, err := ClaimsHeld(c.tx, c.run)
	if err != nil || !slices.ContainsFunc(held, func(h hold.ClaimHold) bool { return h.Kind == hold.HoldDeadline }) {
		return held, err
	}
	if _, err := engine.PassDeadline(c.tx, c.run.WorkflowID); err != nil {
		return nil, err
	}
	if c.run, err = core.LoadRun(c.tx, c.run.WorkflowID); err != nil {
		return nil, err
	}
	if c.run.GivenUp != "" {
		c.effect = true
		if err := c.confirmGone(); err != nil { // this turn shows it
			return nil, err
		}
	}
	return ClaimsHeld(c.tx, c.run)
}

// tooLate reports whether a wait exceeds the remaining time.
func tooLate(waitMS int64, timeLeft *int64) bool { return timeLeft != nil && waitMS/1000 >= *timeLeft }

// remember makes all turns before this one count as older, if it had an effect.
func (c *Conversation) remember() error {
	if c.effect && c.runner.SharesHost { // something started or ended
		core.WakeHosts(c.tx, c.runner.ID)
	}
	if !c.effect || c.turn.Turn <= c.runner.Turn {
		return nil
	}
	return c.tx.ExecOne(`UPDATE compute_node SET turn = ? WHERE id = ?`, c.turn.Turn, c.runner.ID)
}

// tell fills in the state of the workflow.
func (c *Conversation) tell() error {
	counts, err := core.StatusCounts(c.tx, c.run.WorkflowID)
	if err != nil {
		return err
	}
	now, err := core.LoadRun(c.tx, c.run.WorkflowID)
	if err != nil {
		return err
	}
	patterns, err := engine.FailurePatterns(c.tx, now)
	if err != nil {
		return err
	}
	a := &c.Answer
	if patterns.Hash != c.turn.PatternsHash {
		a.Patterns = &patterns.Patterns
	}
	a.RunID, a.EndTime = now.RunID, c.runner.EndTime
	a.Complete, a.Canceled = now.Ended && !now.Compensating(), now.Canceled && !now.Compensating()
	if a.Canceled {
		a.Orders = append(a.Orders, lease.OrderCancel)
	}
	if c.stop {
		a.Orders = append(a.Orders, lease.OrderStop)
	}
	a.OpenJobs, a.HeldJobs = counts.Open(), counts.ByStatus[workflow.PendingFailed]
	waits, err := engine.EndWaits(c.tx, now)
	if err != nil {
		return err
	}
	if waits || now.Compensation == stage.CompensationWaiting {
		a.ClaimableLater = true
		return nil
	}
	if a.OpenJobs == 0 || a.Canceled || len(a.Grants) > 0 || len(c.turn.Held) > 0 {
		a.ClaimableLater = a.OpenJobs > 0 && !a.Canceled
		return nil
	}
	if c.heldForGood {
		return nil
	}
	var held int64
	if err := c.tx.Row(view.CountUserHeld, []any{c.run.WorkflowID}, &held); err != nil {
		return fmt.Errorf("count the jobs that users hold: %w", err)
	}
	a.HeldJobs += held
	a.ClaimableLater, err = claimableLater(c.tx, &c.runner, counts, c.turn.Free.TimeLeftSeconds)
	return err
}
