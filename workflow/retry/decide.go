package retry

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Facts is all that a decision about a job rests on: what has ended, which rules hold,
// and what happened before. Nothing is asked for while it is decided.
type Facts struct {
	JobID, RunID int64 // jitter is drawn from these
	NowMS        int64
	Policies     Policies
	History      workflow.History
	Failure      workflow.Failure // how the attempt ended, or its recovery script if there is a Script
	// Doom is why the job ends whatever the rules say.
	Doom Doom
	// Breakers are the open circuit breakers that the run is subject to. These, the
	// Demand and the Avoided are needed only where Needs says so.
	Breakers []workflow.BreakerTrip
	Demand   *placement.JobDemand
	Avoided  []workflow.AvoidedNode // nodes that the job keeps away from

	// What has ended if it is no attempt; at most one is given.
	Script  *ScriptEnd    // the recovery script of an attempt
	Retried *RetryVerdict // the hold of a job, which somebody has classified as worth a retry
	Expired *ExpiredJob   // the time of a job that waits
	Again   *AskedRetry   // a job that somebody wants tried again
}

// Doom is why a job ends whatever the rules say. The zero value leaves it to them.
type Doom struct {
	Reason string
	Run    string // why the run is given up with it; empty: it is not
}

// DoomOf is the doom of a job that is ended because a timeout has expired.
func DoomOf(which workflow.Timeout, l *workflow.TimeLimit) Doom {
	d := Doom{Reason: l.Reason(which)}
	if l.Policy == workflow.OnTimeoutFailWorkflow {
		d.Run = d.Reason
	}
	return d
}

// ScriptEnd is how the recovery script of an attempt ended. The zero value is one
// that was successful.
type ScriptEnd struct {
	Failed     bool
	ReturnCode int64
	Error      string // it could not run, or nobody knows how it ended
	EarlierRun bool   // its attempt was in a run that is over
	// What the rule that granted the retry says, and the status of the attempt.
	OnError   workflow.Action
	HoldLimit *workflow.HoldLimit
	Rule      string
	Status    workflow.JobStatus
}

// RetryVerdict is a classification as worth a retry.
type RetryVerdict struct {
	hold.Classification
	Force    bool // it may ask for more than there is anywhere
	NotBegun bool // the job was held before an attempt began
}

// ExpiredJob is the timeout of a job that waits.
type ExpiredJob struct {
	Timeout workflow.Timeout
	Limit   workflow.TimeLimit
}

// AskedRetry is somebody's wish to have a job tried again, outside of all rules.
type AskedRetry struct {
	MaxRetries int64 // the attempts that may be used before
	Anew       bool  // a person wants it, not a torc client
}

// Outcome is what becomes of a job.
type Outcome struct {
	workflow.Decision
	Status workflow.JobStatus // of the job from now on
	// Next is the attempt that follows; nil: none does, or it was granted before.
	Next *NextAttempt
	// Grown is what the job asks for from now on; nil: the same as before.
	Grown *workflow.ResourceRequirements
	Said  string // how that differs
	// Limit is how long the job waits if it is held, as far as a rule says it.
	Limit workflow.HoldLimitSource
	// GiveUp is why the run is given up; empty: it is not.
	GiveUp string
	// Refused is why a verdict or a wish has no effect.
	Refused error
}

// NextAttempt is the attempt that follows a retry.
type NextAttempt struct {
	Number  int64
	Used    workflow.History // the retries that are used then
	Delay   time.Duration    // as drawn
	Settle  time.Duration    // if that is longer: the wait unless the end of the attempt before is confirmed
	Avoided []workflow.AvoidedNode
}

// Wait is how long the attempt has to wait at least.
func (n *NextAttempt) Wait() time.Duration { return max(n.Delay, n.Settle) }

// Needs says which facts matter to a decision, beside those that are always given.
type Needs struct {
	Breakers, Demand, Avoided bool
}

// Needs returns what else has to be known to decide.
func (f *Facts) Needs() Needs {
	switch {
	case f.Retried != nil:
		return Needs{Demand: f.Retried.AsksForMore()}
	case f.Expired != nil, f.Again != nil:
		return Needs{}
	}
	d := f.byRules()
	if !d.Retries() {
		return Needs{}
	}
	return Needs{
		Breakers: f.Script == nil && !f.Policies.NeverHeld, Demand: f.Script == nil && d.Mutate != nil,
		Avoided: d.Avoid != nil && d.Avoid.Mode == workflow.AvoidAll,
	}
}

// Decide says what becomes of a job. The same facts give the same outcome.
func Decide(f Facts) Outcome {
	o := Outcome{Decision: f.byRules()}
	if rulesAsked(&f, &o.Decision) {
		o.PolicyHash = f.Policies.Hash()
	}
	switch {
	case f.Expired != nil:
		if f.Expired.Limit.Policy == workflow.OnTimeoutFailWorkflow {
			o.GiveUp = f.Expired.Limit.Reason(f.Expired.Timeout)
		}
	case f.Again != nil:
		if used := f.History.Attempt(); used >= f.Again.MaxRetries {
			o.Refused = workflow.Errorf(workflow.CodeConflict, "job_id=%d has used %d of max_retries=%d attempts", f.JobID, used, f.Again.MaxRetries)
		}
	case f.Retried != nil:
		if o.Refused = f.refusal(); o.Refused == nil {
			o.Refused = f.reask(&o)
		}
	case f.Script == nil:
		f.override(&o)
	}
	o.Status = f.status(&o)
	if o.Action == workflow.ActionHold || o.Action == workflow.ActionRecover {
		o.Limit = f.limit(&o)
	}
	if o.Retries() && o.Refused == nil && (f.Script == nil || o.Rule != "") {
		o.Next = f.next(&o.Decision)
	}
	return o
}

// byRules is what rules say, before anything overrides them. It has no hash of the
// policies yet.
func (f *Facts) byRules() workflow.Decision {
	switch {
	case f.Expired != nil:
		return workflow.Decision{Action: workflow.ActionFail, Rule: f.Expired.Timeout.String(), Reason: fmt.Sprintf("%s has the policy %s", f.Expired.Timeout, f.Expired.Limit.Policy)}
	case f.Again != nil:
		return f.Again.decision(&f.History)
	case f.Retried != nil:
		return f.classified()
	case f.Script != nil:
		return f.afterScript()
	case f.Doom.Reason != "" && f.ends():
		return workflow.Decision{Action: workflow.ActionFail, Reason: f.Doom.Reason}
	}
	return f.afterAttempt()
}

// ends reports whether the attempt was neither successful nor canceled.
func (f *Facts) ends() bool {
	c := &f.Failure.Cause
	return c.Kind == workflow.CauseNeverStarted || c.HoldAsked || c.Status.IsUnsuccessful() && c.Status != workflow.Canceled
}

// afterAttempt is what the rules say about an attempt. What a torc client reports is
// left as it is: such clients have applied the failure handler themselves.
func (f *Facts) afterAttempt() workflow.Decision {
	p, c := &f.Policies, &f.Failure.Cause
	switch {
	case c.Kind == workflow.CauseNeverStarted:
		return workflow.Decision{Action: workflow.ActionRetry, Rule: workflow.RuleNeverStarted, Reason: "never started, so it was no attempt"}
	case c.HoldAsked:
		return workflow.Decision{Action: workflow.ActionHold, Reason: "reported by a client that decides itself: pending_failed"}
	case !f.ends():
		return workflow.Decision{Action: workflow.ActionNone, Reason: noneReason(*c)}
	case f.History.ReportedByOld:
		return workflow.Decision{Action: workflow.ActionFail, Reason: "reported by a client that decides itself: " + c.Status.String()}
	}
	var d workflow.Decision
	if c.Kind == workflow.CauseTimeout && p.OnRunTimeout.Fails() {
		d = workflow.Decision{Action: workflow.ActionFail, Rule: workflow.RuleRunTimeout, Reason: fmt.Sprintf("%s has the policy %s", workflow.TimeoutRun, p.OnRunTimeout)}
	} else {
		d = withoutHold(p, decideByPolicies(p, &f.History, &f.Failure))
	}
	if p.SwitchedOff && !d.Retries() {
		d.Reason += "; " + PoliciesOff
	}
	if d.Retries() && c.MayStillRun {
		d.Settle = unreachableDelay
	}
	return d
}

// rulesAsked reports whether a decision rests on policies.
func rulesAsked(f *Facts, d *workflow.Decision) bool {
	switch {
	case f.Expired != nil, f.Again != nil, f.Retried != nil:
		return false
	case f.Script != nil:
		return f.Script.Failed && !f.Script.EarlierRun
	}
	c := &f.Failure.Cause
	return f.Doom.Reason == "" && d.Action != workflow.ActionNone && c.Kind != workflow.CauseNeverStarted && !c.HoldAsked && !f.History.ReportedByOld
}

// override does what is beyond the rules: an open breaker holds the job, what has
// grown may fit nowhere, and the run may end with the job.
func (f *Facts) override(o *Outcome) {
	switch {
	case f.Doom.Reason != "" && f.ends():
		o.GiveUp = f.Doom.Run
	case o.Rule == workflow.RuleRunTimeout && f.Policies.OnRunTimeout == workflow.OnTimeoutFailWorkflow:
		o.GiveUp = f.Failure.Cause.Text + "; " + o.Reason
	}
	if o.Retries() && !f.Policies.NeverHeld {
		for i := range f.Breakers {
			if t := &f.Breakers[i]; t.Holds(&f.Failure) {
				o.Decision = t.Hold(o.Decision)
				return
			}
		}
	}
	if o.Retries() && o.Mutate != nil && f.Demand != nil {
		f.grow(o)
	}
}

// grow has the next attempt ask for more. If that fits nowhere, there is none.
func (f *Facts) grow(o *Outcome) {
	used := workflow.Usage{PeakMemoryBytes: f.Failure.Evidence.PeakMemoryBytes, Elapsed: f.Failure.Elapsed}
	grown, said := o.Mutate.Apply(f.Demand.Requirements, used)
	if grown == f.Demand.Requirements {
		o.Reason += "; it asks for the same again"
		if said != "" {
			o.Reason += ": " + said
		}
		return
	}
	if why := f.Demand.Outgrown(grown); why != "" {
		o.Decision = o.Outgrown(said, why)
		return
	}
	o.Reason += "; " + said
	o.Grown, o.Said = &grown, said
}

// status is that of the job from now on.
func (f *Facts) status(o *Outcome) workflow.JobStatus {
	switch {
	case o.Action == workflow.ActionRetry:
		return workflow.Ready
	case o.Action == workflow.ActionRecover:
		return workflow.Pending
	case o.Action == workflow.ActionHold:
		return workflow.PendingFailed
	case f.Script != nil:
		return f.Script.Status
	}
	return f.Failure.Cause.Status
}

// limit is how long a rule lets the job wait that is held.
func (f *Facts) limit(o *Outcome) workflow.HoldLimitSource {
	if s := f.Script; s != nil && o.Rule == "" { // its on_recovery_error holds it
		return workflow.HoldLimitSource{Limit: s.HoldLimit, Of: "rule " + s.Rule}
	}
	return workflow.HoldLimitSource{Limit: o.HoldLimit, Of: "rule " + o.Rule}
}

// next is the attempt that a retry grants.
func (f *Facts) next(d *workflow.Decision) *NextAttempt {
	n := &NextAttempt{Number: f.History.AttemptID + 1, Used: f.History.Grant(*d)}
	if f.Retried != nil && f.Retried.NotBegun {
		n.Number = f.History.AttemptID
	}
	n.Delay = d.Jitter.Draw(d.Delay, workflow.Spread(f.JobID, f.RunID, f.History.AttemptID))
	if d.Settle > n.Delay {
		n.Settle = d.Settle
	}
	n.Avoided = d.Avoid.Extend(f.Avoided, f.Failure.Node, f.NowMS)
	return n
}

// decision grants the retry that somebody wants.
func (a *AskedRetry) decision(h *workflow.History) workflow.Decision {
	d := workflow.Decision{Action: workflow.ActionRetry, Rule: workflow.RuleClient, Counted: true, Reason: fmt.Sprintf("retried by a client, attempt %d of %d", h.Attempt(), a.MaxRetries)}
	if a.Anew {
		d.Reason = "retried by a person"
	}
	return d
}

// classified grants a held job the retry that a classification asks for.
func (f *Facts) classified() workflow.Decision {
	return workflow.Decision{Action: workflow.ActionRetry, Rule: workflow.RuleClassified, Counted: true,
		Reason: fmt.Sprintf("classified as worth a retry, %d of %d", f.History.Rules[workflow.RuleClassified].Counted+1, workflow.ClassifiedRetryLimit)}
}

// refusal is why a classification grants no retry: the job has had all of them, or
// none is granted at all, when only a person gets one.
func (f *Facts) refusal() error {
	switch {
	case f.Retried.Author == hold.AuthorDeadline && f.Policies.MaxRetriesOfJob() == 0:
		return workflow.Errorf(workflow.CodeConflict, "no retry is granted (%s)", limitOfJob).WithHint("classify it as failed")
	case f.History.Rules[workflow.RuleClassified].Counted >= workflow.ClassifiedRetryLimit:
		return workflow.Errorf(workflow.CodeConflict, "classifications have granted all %d retries of this job", workflow.ClassifiedRetryLimit).
			WithHint("classify it as failed, or reset it")
	}
	return nil
}

// reask has the next attempt ask for what a classification says. More than there is
// anywhere is refused, unless it is forced.
func (f *Facts) reask(o *Outcome) error {
	if f.Demand == nil {
		return nil
	}
	q, said, err := f.Retried.Apply(f.Demand.Requirements)
	if err != nil || said == "" {
		return err
	}
	if !f.Retried.Force {
		if why := f.Demand.Outgrown(q); why != "" {
			return workflow.Errorf(workflow.CodeConflict, "what it would ask for (%s) fits nowhere: %s", said, why).
				WithHint("ask for less; --force (force in the API) is for a place that is not known here")
		}
	}
	o.Grown, o.Said = &q, said
	return nil
}
