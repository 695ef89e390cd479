package retry

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// afterScript returns the decision for a job whose recovery script has ended. The retry is
// already granted and counted. If the script failed, the first matching rule for recovery
// scripts decides or, if there is none, on_recovery_error of the rule that granted the retry.
// Failure handlers and default actions do not apply.
func (f *Facts) afterScript() workflow.Decision {
	s, p, failure := f.Script, &f.Policies, f.Failure
	switch {
	case !s.Failed:
		return workflow.Decision{Action: workflow.ActionRetry}
	case s.EarlierRun: // its budgets belong to that run
		return workflow.Decision{Action: workflow.ActionRetry, Reason: "its recovery script failed, but a new run has started since"}
	}
	failure.Component = workflow.ComponentRecovery
	d := workflow.Decision{Action: s.OnError, Reason: fmt.Sprintf("no rule matches, on_recovery_error is %s", s.OnError)}
	for _, policy := range p.All() {
		if r := policy.FirstMatch(&failure, f.History.AttemptID); r != nil {
			d = applyRule(p, policy, r, &f.History, &failure)
			break
		}
	}
	said := fmt.Sprintf("its recovery script failed with return code %d", s.ReturnCode)
	if s.Error != "" {
		said = "its recovery script failed: " + s.Error
	}
	d = withoutHold(p, d)
	d.Reason = said + "; " + d.Reason
	return d
}
