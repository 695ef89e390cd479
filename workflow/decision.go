package workflow

import "time"

// Action is what happens to a job after an attempt.
type Action string

// The actions of a decision.
const (
	ActionNone    Action = "none"    // the attempt's own status stands: ok, canceled
	ActionRetry   Action = "retry"   // ready again
	ActionRecover Action = "recover" // recovery script first, then ready again
	ActionHold    Action = "hold"    // pending_failed
	ActionFail    Action = "fail"    // the attempt's own status stands: failed, terminated
)

// Decision is what happens next, and why.
type Decision struct {
	Action         Action
	Reason         string        // one sentence
	Rule           string        // id of the rule that decided, for example "handler:simulation/0" or "default:preempted"
	Counted        bool          // a retry that uses budget
	Delay          time.Duration // earliest next start, from now
	AvoidNode      bool          // not on the node of this attempt
	RecoveryScript string        // for ActionRecover
	// OnRecoveryError is what happens if the script fails or its runner dies:
	// retry, fail or hold.
	OnRecoveryError Action
	PolicyHash      string // identifies the policies that decided
}
