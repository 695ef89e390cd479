package retry

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Facts is everything that a decision about a job depends on: what has ended, which rules
// apply, and what happened before. Decide gets nothing else.
type Facts struct {
	JobID, RunID int64 // the seed of the jitter
	NowMS        int64
	Policies     Policies
	History      workflow.History
	Failure      workflow.Failure // how the attempt ended, or its recovery script if there is a Script
	// Doom is why the job ends regardless of the rules.
	Doom Doom
	// Breakers are the open circuit breakers that apply to the run. Breakers, Demand and
	// Avoided are used only if Needs says so.
	Breakers []workflow.BreakerTrip
	Demand   *placement.JobDemand
	Avoided  []workflow.AvoidedNode // nodes that the job avoids

	// What has ended, if it is not an attempt; at most one of these is set.
	Script  *ScriptEnd    // the recovery script of an attempt
	Retried *RetryVerdict // the hold of a job, by a classification for a retry
	Expired *ExpiredJob   // the timeout of a waiting job
	Again   *AskedRetry   // a job that a user or client wants to retry
}

// Doom is why a job ends regardless of the rules. The zero value means that the rules
// decide.
type Doom struct {
	Reason string
	Run    string // why the run is aborted with it; empty: it is not
}

// DoomOf returns the doom of a job that is ended because a timeout expired.
func DoomOf(which workflow.Timeout, l *workflow.TimeLimit) Doom {
	d := Doom{Reason: l.Reason(which)}
	if l.Policy == workflow.OnTimeoutFailWorkflow {
		d.Run = d.Reason
	}
	return d
}

// ScriptEnd is how the recovery script of an attempt ended. The zero value means success.
type ScriptEnd struct {
	Failed     bool
	ReturnCode int64
	Error      string // why it could not run, or that it is unknown how it ended
	EarlierRun bool   // its attempt belongs to an earlier run
	// OnError, HoldLimit and Rule are from the rule that granted the retry; Status is that
	// of the attempt.
	OnError   workflow.Action
	HoldLimit *workflow.HoldLimit
	Rule      string
	Status    workflow.JobStatus
}

// RetryVerdict is a classification that grants a retry.
type RetryVerdict struct {
	hold.Classification
	Force    bool // its requirements may exceed everything that is known to exist
	NotBegun bool // the job was held before an attempt started
}

// ExpiredJob is the expired timeout of a waiting job.
type ExpiredJob struct {
	Timeout workflow.Timeout
	Limit   workflow.TimeLimit
}

// AskedRetry is a request to retry a job regardless of the rules.
type AskedRetry struct {
	MaxRetries int64 // the request is rejected if this number of attempts is used
	Anew       bool  // a user requests it, not a torc client
}

// Outcome is the result of a decision.
type Outcome struct {
	workflow.Decision
	Status workflow.JobStatus // the new status of the job
	// Next is the attempt that follows; nil: there is none, or it was granted before.
	Next *NextAttempt
	// Grown is the new requirements of the job; nil: they do not change.
	Grown *workflow.ResourceRequirements
	Said  string // how they differ, as text
	// Limit is how long the job may be held, if a rule sets that.
	Limit workflow.HoldLimitSource
	// Abort is why the run is aborted; empty: it is not.
	Abort string
	// Refused is why a classification or request is rejected; nil: it is not.
	Refused error
}

// NextAttempt is the attempt that follows a retry.
type NextAttempt struct {
	Number  int64
	Used    workflow.History // with the retry that was granted
	Delay   time.Duration    // after jitter
	Settle  time.Duration    // if longer than Delay: the wait until the end of the previous attempt is confirmed
	Avoided []workflow.AvoidedNode
}

// Wait returns how long the attempt has to wait.
func (n *NextAttempt) Wait() time.Duration { return max(n.Delay, n.Settle) }

// Needs says which of the optional facts a decision depends on.
type Needs struct {
	Breakers, Demand, Avoided bool
}

// Needs returns which of the optional facts have to be set before Decide is called.
func (f *Facts) Needs() Needs {
	switch {
	case f.Retried != nil:
		return Needs{Demand: f.Retried.ChangesRequirements()}
	case f.Expired != nil, f.Again != nil:
		return Needs{}
	}
	d := f.byRules()
	switch {
	case d.Rule == workflow.RulePause:
		return Needs{Avoided: true}
	case !d.Retries():
		return Needs{}
	}
	return Needs{
		Breakers: f.Script == nil && !f.Policies.NeverHeld, Demand: f.Script == nil && d.Mutate != nil,
		Avoided: d.Avoid != nil && d.Avoid.Mode == workflow.AvoidAll,
	}
}

// Decide returns what happens to a job. The same facts give the same outcome.
func Decide(f Facts) Outcome {
	o := Outcome{Decision: f.byRules()}
	if dependsOnPolicies(&f, &o.Decision) {
		o.PolicyHash = f.Policies.Hash()
	}
	switch {
	case f.Expired != nil:
		if f.Expired.Limit.Policy == workflow.OnTimeoutFailWorkflow {
			o.Abort = f.Expired.Limit.Reason(f.Expired.Timeout)
		}
	case f.Again != nil:
		if used := f.History.Attempt(); used >= f.Again.MaxRetries {
			o.Refused = workflow.Errorf(workflow.CodeConflict, "job_id=%d has used %d of max_retries=%d attempts", f.JobID, used, f.Again.MaxRetries)
		}
	case f.Retried != nil:
		if o.Refused = f.refusal(); o.Refused == nil {
			o.Refused = f.changeRequirements(&o)
		}
	case f.Script == nil && o.Rule != workflow.RulePause:
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

// byRules returns the decision of the rules, before anything overrides it, and without the
// hash of the policies.
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
	case f.Failure.Cause.ByPause:
		return workflow.Decision{Action: workflow.ActionRetry, Rule: workflow.RulePause, Reason: "its workflow was paused, which uses no retry"}
	case f.Doom.Reason != "" && f.ends():
		return workflow.Decision{Action: workflow.ActionFail, Reason: f.Doom.Reason}
	}
	return f.afterAttempt()
}

// ends reports whether the attempt was neither successful nor canceled, so that a decision
// is needed.
func (f *Facts) ends() bool {
	c := &f.Failure.Cause
	return c.Kind == workflow.CauseNeverStarted || c.HoldAsked || c.ByPause || c.Status.IsUnsuccessful() && c.Status != workflow.Canceled
}

// afterAttempt returns the decision of the rules about an attempt. A report of a torc client
// is not changed, because such clients apply the failure handler themselves.
func (f *Facts) afterAttempt() workflow.Decision {
	p, c := &f.Policies, &f.Failure.Cause
	switch {
	case c.Kind == workflow.CauseNeverStarted:
		return workflow.Decision{Action: workflow.ActionRetry, Rule: workflow.RuleNeverStarted, Reason: "never started, so it does not count as an attempt"}
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

// dependsOnPolicies reports whether a decision depends on policies.
func dependsOnPolicies(f *Facts, d *workflow.Decision) bool {
	switch {
	case f.Expired != nil, f.Again != nil, f.Retried != nil:
		return false
	case f.Script != nil:
		return f.Script.Failed && !f.Script.EarlierRun
	}
	c := &f.Failure.Cause
	return f.Doom.Reason == "" && !c.ByPause && d.Action != workflow.ActionNone && c.Kind != workflow.CauseNeverStarted && !c.HoldAsked && !f.History.ReportedByOld
}

// override applies what takes precedence over the rules: an open breaker may hold the job,
// grown requirements may fit nowhere, and the run may be aborted with the job.
func (f *Facts) override(o *Outcome) {
	switch {
	case f.Doom.Reason != "" && f.ends():
		o.Abort = f.Doom.Run
	case o.Rule == workflow.RuleRunTimeout && f.Policies.OnRunTimeout == workflow.OnTimeoutFailWorkflow:
		o.Abort = f.Failure.Cause.Text + "; " + o.Reason
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

// grow raises the requirements of the next attempt. If they fit nowhere, the job fails.
func (f *Facts) grow(o *Outcome) {
	used := workflow.Usage{PeakMemoryBytes: f.Failure.Evidence.PeakMemoryBytes, Elapsed: f.Failure.Elapsed}
	grown, said := o.Mutate.Apply(f.Demand.Requirements, used)
	if grown == f.Demand.Requirements {
		o.Reason += "; its requirements do not change"
		if said != "" {
			o.Reason += ": " + said
		}
		return
	}
	if why := f.Demand.Outgrown(grown); why != "" {
		o.Decision = o.FailOutgrown(said, why)
		return
	}
	o.Reason += "; " + said
	o.Grown, o.Said = &grown, said
}

// status returns the new status of the job.
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

// limit returns how long the job may be held according to the rule.
func (f *Facts) limit(o *Outcome) workflow.HoldLimitSource {
	if s := f.Script; s != nil && o.Rule == "" { // on_recovery_error of its rule holds it
		return workflow.HoldLimitSource{Limit: s.HoldLimit, Of: "rule " + s.Rule}
	}
	return workflow.HoldLimitSource{Limit: o.HoldLimit, Of: "rule " + o.Rule}
}

// next returns the attempt that follows a retry.
func (f *Facts) next(d *workflow.Decision) *NextAttempt {
	n := &NextAttempt{Number: f.History.AttemptID + 1, Used: f.History.After(*d)}
	if f.Retried != nil && f.Retried.NotBegun {
		n.Number = f.History.AttemptID
	}
	n.Delay = d.Jitter.Apply(d.Delay, workflow.UnitHash(f.JobID, f.RunID, f.History.AttemptID))
	if d.Settle > n.Delay {
		n.Settle = d.Settle
	}
	if n.Avoided = d.Avoid.Extend(f.Avoided, f.Failure.Node, f.NowMS); d.Rule == workflow.RulePause {
		n.Avoided = f.Avoided
	}
	return n
}

// decision returns the decision to grant the requested retry.
func (a *AskedRetry) decision(h *workflow.History) workflow.Decision {
	d := workflow.Decision{Action: workflow.ActionRetry, Rule: workflow.RuleClient, Counted: true, Reason: fmt.Sprintf("retried by a client, attempt %d of %d", h.Attempt(), a.MaxRetries)}
	if a.Anew {
		d.Reason = "retried by a user"
	}
	return d
}

// classified returns the decision to grant the retry of a classification.
func (f *Facts) classified() workflow.Decision {
	return workflow.Decision{Action: workflow.ActionRetry, Rule: workflow.RuleClassified, Counted: true,
		Reason: fmt.Sprintf("classified for a retry, %d of %d", f.History.Rules[workflow.RuleClassified].Counted+1, workflow.ClassifiedRetryLimit)}
}

// refusal returns an error of CodeConflict if a classification cannot grant a retry: the job
// has used all of them, or no retries are allowed and the author is not a user.
func (f *Facts) refusal() error {
	switch {
	case f.Retried.Author == hold.AuthorDeadline && f.Policies.MaxRetriesOfJob() == 0:
		return workflow.Errorf(workflow.CodeConflict, "no retries are allowed (%s)", limitOfJob).WithHint("classify it as failed")
	case f.History.Rules[workflow.RuleClassified].Counted >= workflow.ClassifiedRetryLimit:
		return workflow.Errorf(workflow.CodeConflict, "classifications have granted all %d retries of this job", workflow.ClassifiedRetryLimit).
			WithHint("classify it as failed, or reset it")
	}
	return nil
}

// changeRequirements sets the requirements that a classification gives to the next attempt.
// It returns an error of CodeConflict if they cannot change, or if they fit nowhere and
// Force is not set.
func (f *Facts) changeRequirements(o *Outcome) error {
	if f.Demand == nil {
		return nil
	}
	q, said, err := f.Retried.Apply(f.Demand.Requirements)
	if err != nil || said == "" {
		return err
	}
	if !f.Retried.Force {
		if why := f.Demand.Outgrown(q); why != "" {
			return workflow.Errorf(workflow.CodeConflict, "its new requirements (%s) fit nowhere: %s", said, why).
				WithHint("lower them, or use --force (force in the API) if there is a place that the daemon does not know")
		}
	}
	o.Grown, o.Said = &q, said
	return nil
}
