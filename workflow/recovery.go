package workflow

// FailedRecovery is the record of a recovery script that failed after an attempt, and of
// the decision that followed. It is written once.
type FailedRecovery struct {
	EndedMS  int64
	Cause    Cause
	OnError  Action // on_recovery_error of the rule that granted the retry
	Decision Decision
}

// OfRecovery reports whether the rule applies to failures of recovery scripts.
func (r *RetryRule) OfRecovery() bool { return r.When.component() == ComponentRecovery }

// validateRecovery finds keys that have no meaning in a rule for recovery scripts.
func (r *RetryRule) validateRecovery(p *problems, at string) {
	if !r.OfRecovery() || r.Action != ActionRetry {
		return
	}
	if r.RecoveryScript != "" {
		p.add(at+".recovery_script", "remove it", "a failed recovery script cannot have a recovery script")
	}
	if r.Mutate != nil {
		p.add(at+".mutate", "write it in the rule with the recovery_script", "the requirements of the retry follow from the rule that granted it")
	}
	if r.Limit != nil || r.Counted != nil && *r.Counted {
		key := "limit"
		if r.Limit == nil {
			key = "counted"
		}
		p.add(at+"."+key, "write max_free", "the rule that granted the retry has already counted it")
	}
}
