package workflow

// FailedRecovery is the record of a recovery script that has failed after an
// attempt, and of what was decided then. It is written once.
type FailedRecovery struct {
	EndedMS  int64
	Cause    Cause
	OnError  Action // what the rule that granted the retry says of such a failure
	Decision Decision
}

// OfRecovery reports whether the rule is about recovery scripts.
func (r *RetryRule) OfRecovery() bool { return r.When.component() == ComponentRecovery }

// validateRecovery finds what says nothing in a rule about recovery scripts.
func (r *RetryRule) validateRecovery(p *problems, at string) {
	if !r.OfRecovery() || r.Action != ActionRetry {
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
