package retry

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// afterScript says what happens to a job whose recovery script has ended. Its
// retry is granted already, and counted. If the script has failed, the first rule
// about recovery scripts decides whether it is made, and without one what the rule that
// granted it says of such failures. Failure handlers and default actions are not about
// them.
func (f *Facts) afterScript() workflow.Decision {
	s, p, failure := f.Script, &f.Policies, f.Failure
	switch {
	case !s.Failed:
		return workflow.Decision{Action: workflow.ActionRetry}
	case s.EarlierRun: // its budgets are those of that run
		return workflow.Decision{Action: workflow.ActionRetry, Reason: "its recovery script failed, but a new run has begun meanwhile"}
	}
	failure.Component = workflow.ComponentRecovery
	d := workflow.Decision{Action: s.OnError, Reason: fmt.Sprintf("no rule for it, on_recovery_error is %s", s.OnError)}
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
