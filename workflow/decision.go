package workflow

import (
	"fmt"
	"time"
)

// Action is what happens to a job after an attempt.
type Action string

// The actions of a decision.
const (
	ActionNone    Action = "none"    // the job gets the attempt's status: completed or canceled
	ActionRetry   Action = "retry"   // ready again
	ActionRecover Action = "recover" // recovery script first, then ready again
	ActionHold    Action = "hold"    // pending_failed
	ActionFail    Action = "fail"    // the job gets the attempt's status: failed or terminated
	// ActionInherit is only a policy's default action: the next policy decides.
	ActionInherit Action = "inherit"
)

// Decision is what happens next, and why.
type Decision struct {
	Action Action
	Reason string // one sentence
	// Rule is the key of the rule that decided, for example
	// "handler:simulation/1" or "default/preempted"; empty if none did.
	Rule    string
	Counted bool // a retry that uses budget
	// Delay is how long the next attempt waits, before Jitter is drawn.
	Delay  time.Duration
	Jitter Jitter
	// Settle is the minimum wait until the end of the previous attempt is confirmed,
	// which may still run on a node that cannot be reached.
	Settle         time.Duration
	Avoid          *AvoidNodes // nil: no node is avoided
	Mutate         *Mutation   // nil: the next attempt has the same requirements
	RecoveryScript string      // for ActionRecover
	// OnRecoveryError is what happens if the script fails or its runner dies:
	// retry, fail or hold.
	OnRecoveryError Action
	// HoldLimit is how long the job may be held according to the rule that decided, also
	// after a failed recovery script; nil: the rule sets no limit.
	HoldLimit  *HoldLimit
	PolicyHash string // identifies the policies that decided
}

// Retries reports whether the job gets another attempt.
func (d Decision) Retries() bool { return d.Action == ActionRetry || d.Action == ActionRecover }

// FailOutgrown returns the decision that replaces a retry whose grown requirements fit
// nowhere. The text grown describes the requirements, why says where they do not fit. The
// decision names no rule and uses no retry.
func (d Decision) FailOutgrown(grown, why string) Decision {
	return Decision{Action: ActionFail, Reason: fmt.Sprintf("%s; no retry, because its new requirements (%s) fit nowhere: %s", d.Reason, grown, why)}
}

// RuleCount is how many retries of a job a rule has granted in this run.
type RuleCount struct {
	Counted int64 `json:"counted,omitempty"`
	Free    int64 `json:"free,omitempty"`
}

// History is what happened to the job before, in this run.
type History struct {
	AttemptID    int64 // of the attempt that just ended
	CountedFails int64 // earlier attempts whose retry was counted
	Rules        map[string]RuleCount
	// WorkflowRetries is the number of counted retries of all jobs in this run. It
	// matters only if Policies.MaxRetriesTotal is set.
	WorkflowRetries int64
	ReportedByOld   bool // reported through a torc call, not by our runner
}

// After returns the history for the next attempt, after the decision d. A job that never
// started had no attempt. After does not change h.
func (h History) After(d Decision) History {
	if !d.Retries() || d.Rule == RuleNeverStarted {
		return h
	}
	if d.Rule == RulePause { // which no budget limits
		h.AttemptID++
		return h
	}
	rules := make(map[string]RuleCount, len(h.Rules)+1)
	for id, n := range h.Rules {
		rules[id] = n
	}
	n := rules[d.Rule]
	if d.Counted {
		n.Counted++
		h.CountedFails++
	} else {
		n.Free++
	}
	rules[d.Rule] = n
	h.Rules = rules
	h.AttemptID++
	return h
}

// Attempt returns the number of the attempt that just ended, without attempts whose retry
// was not counted. It is compared with torc's max_retries.
func (h History) Attempt() int64 { return 1 + h.CountedFails }

// The rules that are not part of a policy.
const (
	RuleNeverStarted = "never_started"
	RuleClassified   = "classified" // retries granted by a classification
	RuleRunTimeout   = "timeouts.run"
	RuleClient       = "client" // retries requested by torc's clients and users
	RulePause        = "pause"  // the attempt was ended because the workflow was paused
)

// ClassifiedRetryLimit is the maximum number of retries of a job in a run that
// classifications can grant.
const ClassifiedRetryLimit = 3
