package workflow

import (
	"fmt"
	"time"
)

// Action is what happens to a job after an attempt.
type Action string

// The actions of a decision.
const (
	ActionNone    Action = "none"    // the attempt's own status stands: ok, canceled
	ActionRetry   Action = "retry"   // ready again
	ActionRecover Action = "recover" // recovery script first, then ready again
	ActionHold    Action = "hold"    // pending_failed
	ActionFail    Action = "fail"    // the attempt's own status stands: failed, terminated
	// ActionInherit is only a policy's default action: the policies behind decide.
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
	// Settle is how long it waits at least, unless the end of the attempt before
	// is confirmed: that may still run where nobody can reach it.
	Settle         time.Duration
	Avoid          *AvoidNodes // nil: every node will do
	Mutate         *Mutation   // nil: the next attempt asks for the same
	RecoveryScript string      // for ActionRecover
	// OnRecoveryError is what happens if the script fails or its runner dies:
	// retry, fail or hold.
	OnRecoveryError Action
	// HoldLimit is how long the rule that decided lets a job wait that is held, be
	// it for a failed recovery script; nil: it does not say.
	HoldLimit  *HoldLimit
	PolicyHash string // identifies the policies that decided
}

// Retries reports whether the job gets another attempt.
func (d Decision) Retries() bool { return d.Action == ActionRetry || d.Action == ActionRecover }

// Outgrown is the decision instead of a retry that would ask for more, as said,
// than can be had anywhere; why says so. No rule decided that, and no retry is
// used.
func (d Decision) Outgrown(said, why string) Decision {
	return Decision{Action: ActionFail, Reason: fmt.Sprintf("%s; no retry, as what it would ask for (%s) fits nowhere: %s", d.Reason, said, why)}
}

// RuleCount is how often a rule has granted a retry of a job in this run.
type RuleCount struct {
	Counted int64 `json:"counted,omitempty"`
	Free    int64 `json:"free,omitempty"`
}

// History is what happened to the job before, in this run.
type History struct {
	AttemptID    int64 // of the attempt that just ended
	CountedFails int64 // attempts before this one whose retry was counted
	Rules        map[string]RuleCount
	// WorkflowRetries are the counted retries of all jobs in this run; they
	// matter only where Policies.MaxRetriesTotal is given.
	WorkflowRetries int64
	ReportedByOld   bool // reported through a torc call, not by our runner
}

// Grant returns the history after d, for the next attempt; what was never
// started was none. It does not change h.
func (h History) Grant(d Decision) History {
	if !d.Retries() || d.Rule == RuleNeverStarted {
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

// Attempt is the number of the attempt that just ended if uncounted ones are
// left out: what torc's max_retries is compared with.
func (h History) Attempt() int64 { return 1 + h.CountedFails }

// The rules that no policy holds.
const (
	RuleNeverStarted = "never_started"
	RuleClassified   = "classified" // retries that a classification granted
	RuleRunTimeout   = "timeouts.run"
	RuleClient       = "client" // retries that torc's clients and people ask for
)

// ClassifiedRetryLimit is how many retries of a job classifications may grant
// in a run.
const ClassifiedRetryLimit = 3
