package workflow

import (
	"fmt"
	"slices"
)

// FailedRecovery is the record of a recovery script that has failed after an
// attempt, and of what was decided then. It is written once.
type FailedRecovery struct {
	EndedMS  int64
	Cause    Cause
	OnError  Action // what the rule that granted the retry says of such a failure
	Decision Decision
}

// DecideRecovery says what happens to a job whose recovery script has failed.
// Its retry is granted already, and counted: the first rule about recovery
// scripts decides whether it is made, and without one what the rule that granted
// it says of such failures. Failure handlers and default actions are not about
// them.
func DecideRecovery(p Policies, h History, f Failure, onError Action) Decision {
	f.Component = ComponentRecovery
	d := Decision{Action: onError, Reason: fmt.Sprintf("no rule for it, on_recovery_error is %s", onError)}
	for _, policy := range slices.Concat(pointers(p.Site), p.policies()) {
		if r := policy.match(&f, h.AttemptID); r != nil {
			d = p.apply(policy, r, &h, &f)
			break
		}
	}
	d = p.unheld(d)
	d.PolicyHash = p.Hash()
	return d
}

// ofRecovery reports whether the rule is about recovery scripts.
func (r *RetryRule) ofRecovery() bool { return r.When.component() == ComponentRecovery }

// validateRecovery finds what says nothing in a rule about recovery scripts.
func (r *RetryRule) validateRecovery(p *problems, at string) {
	if !r.ofRecovery() || r.Action != ActionRetry {
		return
	}
	if r.RecoveryScript != "" {
		p.add(at+".recovery_script", "remove it", "a recovery script has no recovery script")
	}
	if r.Mutate != nil {
		p.add(at+".mutate", "write it in the rule with the recovery_script", "the retry asks for what the rule that granted it says")
	}
	if r.Limit != nil || r.Counted != nil && *r.Counted {
		key := "limit"
		if r.Limit == nil {
			key = "counted"
		}
		p.add(at+"."+key, "write max_free", "the retry was counted by the rule that granted it")
	}
}
