package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Turn is everything that a runner has to say at one moment.
type Turn struct {
	RunnerID int64
	Number   int64 // grows by one
	RunID    int64
	// Held lists every lease that the runner has.
	Held    []Held
	Reports []Report
	// Started lists what a runner that is over, this one or an earlier one, had
	// begun to start and has not reported.
	Started []Held
	// NotStarted lists what the runner said to have started then, and what was not
	// started after all.
	NotStarted []Held
	// GiveBack lists leases whose jobs the runner will not start.
	GiveBack  []LeaseRef
	Recovered []Recovered
	Free      Free
	SignsHash string // of what the runner looks for in the words of failed attempts
	// Dying is how many processes the runner is ending whose leases it has lost.
	Dying int64
}

// Free is what a runner has to offer. A node may be listed several times, if
// the runner takes jobs ahead.
type Free struct {
	Nodes           []workflow.OfferNode
	Slots           int64  // jobs that it takes at most
	TimeLeftSeconds *int64 // nil: no end
}

// TurnResult is the answer to a turn.
type TurnResult struct {
	RunID   int64
	Results []ReportResult // to the reports and then the recoveries, in their order
	Grants  []Grant
	Voided  []LeaseRef // held, but not the runner's any more
	Cancel  []LeaseRef // held, and to be ended and reported
	Stop    bool       // the runner was taken for dead or has left: its jobs are given to others
	EndTime string     // of its allocation, RFC 3339; empty if none is known
	// Complete says that the run has ended, Canceled that it was canceled.
	Complete bool
	Canceled bool
	// OpenJobs counts the jobs that are not complete; ClaimableLater says that
	// some of them may still become work for this runner without a decision on
	// those that are held, HeldJobs.
	OpenJobs       int64
	HeldJobs       int64
	ClaimableLater bool
	Signs          *workflow.Signs // what to look for from now on; nil if that has not changed
	ClaimsHeld     string          // why nothing of the workflow is granted; empty if it is
	WaitsForHost   string          // who has the rest of the host, if there are jobs for it
}

// Turn records what a runner says and grants it jobs. A turn may be repeated:
// what it reports has no second effect, and what was granted and is not held is
// granted again. A turn that is older than one that had an effect still reports
// but is granted nothing, and a runner of an earlier run is told to leave.
func (s *Store) Turn(_ context.Context, t Turn) (TurnResult, error) {
	var answer TurnResult
	err := s.writer.do("turn", func(tx *Tx) error {
		c, err := tx.hear(s, &t)
		if err != nil {
			return err
		}
		answer = c.answer
		return nil
	})
	return answer, err
}

// conversation is a turn under way.
type conversation struct {
	tx       *Tx
	store    *Store
	turn     *Turn
	runner   runner
	run      *run
	leases   leases
	finisher *finisher
	effect   bool // something was written
	answer   TurnResult
	// heldForGood says that claims are held for longer than the runner is there, as
	// far as is known.
	heldForGood bool

	inAllocation *workflow.Allocation // once it was asked for
}

func (tx *Tx) hear(s *Store, t *Turn) (*conversation, error) {
	c := &conversation{tx: tx, store: s, turn: t}
	var err error
	if c.runner, err = tx.runner(t.RunnerID); err != nil {
		return nil, err
	}
	if c.run, err = tx.run(c.runner.workflowID); err != nil {
		return nil, err
	}
	if t.RunID > c.run.runID {
		return nil, c.run.require(t.RunID)
	}
	if c.leases, err = tx.leases(t.RunnerID); err != nil {
		return nil, err
	}
	c.finisher = newFinisher(tx, c.run)
	steps := []func() error{c.takeNotStarted, c.takeBack, c.takeReports, c.takeStarted, c.takeRecovered, c.compareHeld, c.confirmGone, c.grant, c.remember, c.tell}
	if t.RunID < c.run.runID {
		steps = []func() error{c.hearPast, c.confirmGone, c.tell}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("turn %d of runner %d: %w", t.Number, t.RunnerID, err)
		}
	}
	return c, nil
}

// current reports whether this is the newest turn: an older one lists what the
// runner held before.
func (c *conversation) current() bool { return c.turn.Number >= c.runner.turn }

// takeNotStarted takes in what was not started after all: the leases stay. One
// that has been started again since has another time.
func (c *conversation) takeNotStarted() error {
	for _, h := range c.turn.NotStarted {
		l := c.leases.of(h.JobID)
		if l == nil || l.LeaseRef != h.LeaseRef || l.status != workflow.Running || l.recovering || l.startMS.Int64 != h.StartedMS {
			continue
		}
		if err := c.tx.notStarted(c.run, l); err != nil {
			return err
		}
		c.effect = true
	}
	return nil
}

// takeBack takes in the jobs that the runner will not start.
func (c *conversation) takeBack() error {
	var back []*lease
	for _, ref := range c.turn.GiveBack {
		l := c.leases.of(ref.JobID)
		if l == nil || l.LeaseRef != ref || l.status != workflow.Pending || l.said {
			continue
		}
		l.said = true
		if l.recovering {
			if err := c.finisher.recoveryLost(l, "its runner did not run the recovery script"); err != nil {
				return err
			}
			continue
		}
		back = append(back, l)
	}
	c.effect = c.effect || len(back) > 0
	return c.tx.giveBack(c.run, back)
}

// takeReports records the ends of attempts.
func (c *conversation) takeReports() error {
	host := holder{id: &c.runner.id, hostname: c.runner.hostname}
	c.answer.Results = make([]ReportResult, 0, len(c.turn.Reports)+len(c.turn.Recovered))
	for i := range c.turn.Reports {
		if err := c.explain(&c.turn.Reports[i]); err != nil {
			return err
		}
		result, err := c.finisher.report(c.leases.of(c.turn.Reports[i].JobID), &c.turn.Reports[i], host)
		if err != nil {
			return err
		}
		c.answer.Results = append(c.answer.Results, result)
	}
	return nil
}

// takeStarted takes in attempts that were started and that nobody had heard of:
// they are attempts all the same.
func (c *conversation) takeStarted() error {
	var started []*lease
	var startMS []int64
	for _, h := range c.turn.Started {
		l := c.leases.of(h.JobID)
		if l == nil {
			var err error
			if l, err = c.finisher.foreign(h.JobID); err != nil {
				return err
			}
		}
		if l == nil || l.LeaseRef != h.LeaseRef || l.said || l.status != workflow.Pending || l.recovering {
			continue
		}
		l.said = true
		started, startMS = append(started, l), append(startMS, h.StartedMS)
	}
	if len(started) == 0 {
		return nil
	}
	c.effect = true
	return c.tx.start(c.run, started, startMS)
}

// takeRecovered takes in how recovery scripts ended.
func (c *conversation) takeRecovered() error {
	for i := range c.turn.Recovered {
		result, err := c.finisher.recovered(c.leases.of(c.turn.Recovered[i].JobID), &c.turn.Recovered[i])
		if err != nil {
			return err
		}
		c.answer.Results = append(c.answer.Results, result)
	}
	return nil
}

// compareHeld compares what the runner holds with its leases: jobs that have
// been started begin to run, what is not the runner's is voided, and what
// ran and is unknown to the runner is lost.
func (c *conversation) compareHeld() error {
	if !c.current() {
		return c.finish()
	}
	var started []*lease
	var startMS []int64
	for _, h := range c.turn.Held {
		l := c.leases.of(h.JobID)
		if l == nil || l.LeaseRef != h.LeaseRef || !l.status.IsLive() {
			if !c.run.canceled || c.run.compensating() { // then it is told to end all that it has and to report it
				c.answer.Voided = append(c.answer.Voided, h.LeaseRef)
			}
			continue
		}
		if l.said {
			continue
		}
		if l.said = true; l.canceling && !h.Ending {
			c.answer.Cancel = append(c.answer.Cancel, h.LeaseRef)
		}
		if h.StartedMS > 0 && l.status == workflow.Pending && !l.recovering {
			started, startMS = append(started, l), append(startMS, h.StartedMS)
		}
	}
	if len(started) > 0 {
		c.effect = true
		if err := c.tx.start(c.run, started, startMS); err != nil {
			return err
		}
	}
	for i := range c.leases {
		l := &c.leases[i]
		if l.said || l.status != workflow.Running {
			continue
		}
		l.said = true
		err := c.finisher.lost(l, holder{id: &c.runner.id, hostname: c.runner.hostname}, "its runner does not know of it any more")
		if err != nil {
			return err
		}
	}
	return c.finish()
}

// finish writes what has ended and its consequences.
func (c *conversation) finish() error {
	changed, err := c.finisher.flush()
	c.effect = c.effect || changed
	return err
}

// hearPast answers a runner of an earlier run: its reports are kept and change
// nothing, it is to end what it holds, and to leave. What became of its leases
// is decided when it has left.
func (c *conversation) hearPast() error {
	a := &c.answer
	for i := range c.turn.Reports {
		result, err := c.finisher.pastReport(&c.turn.Reports[i], c.turn.RunID)
		if err != nil {
			return err
		}
		a.Results = append(a.Results, result)
	}
	for _, r := range c.turn.Recovered {
		a.Results = append(a.Results, ReportResult{LeaseRef: r.LeaseRef, Outcome: Late, Message: "a new run has begun"})
	}
	for _, h := range c.turn.Held {
		a.Voided = append(a.Voided, h.LeaseRef)
	}
	a.Stop = true
	return nil
}

// grant gives jobs to the runner: first again what it was granted and does not
// know of, then others.
func (c *conversation) grant() error {
	r := &c.runner
	c.answer.Stop = !r.isActive
	if !r.isActive || !c.current() || c.run.canceled && !c.run.compensating() {
		return nil
	}
	claim := newClaim(c.tx, c.run.workflowID, r.offer(c.turn.Free))
	claim.onlyStaged = c.run.canceled
	claim.runner, claim.fairness = r, &c.store.fairness
	for i := range c.leases {
		if l := &c.leases[i]; !l.said && l.status == workflow.Pending {
			if err := claim.keep(l); err != nil {
				return err
			}
		}
	}
	held, err := c.claimsHeld()
	if err != nil {
		return err
	}
	kept, err := c.keptFrom()
	if err != nil {
		return err
	}
	share, err := c.tx.hostShare(r)
	if err != nil {
		return err
	}
	if c.answer.ClaimsHeld = held.Reason(); len(held) == 0 && kept == nil {
		if share == nil || share.room.Alone {
			err = claim.choose()
		} else {
			c.answer.WaitsForHost, err = claim.chooseShared(share)
		}
	} else if len(held) == 0 {
		c.answer.ClaimsHeld = "nothing is given to this node: " + kept.Reason
		c.heldForGood = c.runner.nodeType != workflow.SchedulerLocal
	} else if until := held.UntilMS(); until == 0 || tooLate(until-c.tx.nowMS, c.turn.Free.TimeLeftSeconds) {
		c.heldForGood = true
	}
	if err != nil {
		return err
	}
	if err := claim.take(c.run.runID, &r.id); err != nil {
		return err
	}
	c.effect = c.effect || len(claim.picked) > 0
	c.answer.Grants, err = claim.grants()
	return err
}

// claimsHeld says for what reasons nothing is granted. A run past its deadline of
// which nothing is live any more is given up now, while this runner is still there
// to take its end job and its compensation.
func (c *conversation) claimsHeld() (workflow.ClaimHolds, error) {
	held, err := c.tx.claimsHeld(c.run)
	if err != nil || !slices.ContainsFunc(held, func(h workflow.ClaimHold) bool { return h.Kind == workflow.HoldDeadline }) {
		return held, err
	}
	if _, err := c.tx.passDeadline(c.run.workflowID); err != nil {
		return nil, err
	}
	if c.run, err = c.tx.run(c.run.workflowID); err != nil {
		return nil, err
	}
	if c.run.givenUp != "" {
		c.effect = true
		if err := c.confirmGone(); err != nil { // it has said so in this turn
			return nil, err
		}
	}
	return c.tx.claimsHeld(c.run)
}

// tooLate reports whether a wait of so many ms is longer than the time that is
// left.
func tooLate(waitMS int64, timeLeft *int64) bool { return timeLeft != nil && waitMS/1000 >= *timeLeft }

// remember makes turns older that this one is newer than, if it had an effect.
func (c *conversation) remember() error {
	if c.effect && c.runner.sharesHost { // something began or ended
		c.tx.wakeHosts(c.runner.id)
	}
	if !c.effect || c.turn.Number <= c.runner.turn {
		return nil
	}
	return c.tx.execOne(`UPDATE compute_node SET turn = ? WHERE id = ?`, c.turn.Number, c.runner.id)
}

// tell fills in how the workflow is.
func (c *conversation) tell() error {
	counts, err := c.tx.statusCounts(c.run.workflowID)
	if err != nil {
		return err
	}
	now, err := c.tx.run(c.run.workflowID)
	if err != nil {
		return err
	}
	signs, err := c.tx.signs(now)
	if err != nil {
		return err
	}
	a := &c.answer
	if signs.Hash != c.turn.SignsHash {
		a.Signs = &signs.Signs
	}
	a.RunID, a.EndTime = now.runID, c.runner.endTime
	a.Complete, a.Canceled = now.ended && !now.compensating(), now.canceled && !now.compensating()
	a.OpenJobs, a.HeldJobs = counts.Open(), counts.ByStatus[workflow.PendingFailed]
	waits, err := c.tx.endWaits(now)
	if err != nil {
		return err
	}
	if waits || now.compensation == workflow.CompensationWaiting {
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
	a.ClaimableLater, err = c.tx.claimableLater(&c.runner, counts, c.turn.Free.TimeLeftSeconds)
	return err
}
