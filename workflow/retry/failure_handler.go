package retry

import (
	"fmt"
	"math"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// matchHandlerRule returns the index of the rule for a return code: the first that names it,
// or else the first that matches all; -1 if there is none.
func matchHandlerRule(h *workflow.FailureHandlerDefinition, code int64) int {
	exact := slices.IndexFunc(h.Rules, func(r workflow.FailureRule) bool { return slices.Contains(r.ExitCodes, code) })
	if exact >= 0 {
		return exact
	}
	return slices.IndexFunc(h.Rules, func(r workflow.FailureRule) bool { return r.MatchAllExitCodes })
}

// decideByHandler returns the decision of rule i. As in torc, its max_retries is the number
// of attempts that used budget. Limits that span several rules apply only if they were set.
func decideByHandler(h *workflow.FailureHandlerDefinition, i int, p *Policies, history *workflow.History, c workflow.Cause) workflow.Decision {
	r := h.Rules[i]
	attempt := history.Attempt()
	reason := fmt.Sprintf("rule %d of handler %s: %s %d, attempt %d of %d",
		i+1, h.Name, codeWord(c), c.ReturnCode, attempt, r.MaxRetries)
	d := workflow.Decision{Action: workflow.ActionRetry, Rule: handlerRuleKey(h, i), Reason: reason, Counted: true}
	global := int64(math.MaxInt64)
	if p.GlobalMaxRetries != nil {
		global = *p.GlobalMaxRetries
	}
	spent := spentBudget(p, history, global)
	switch {
	case attempt >= r.MaxRetries:
		d.Action, d.Counted, d.Reason = workflow.ActionFail, false, reason+", none left"
		return d
	case spent != "":
		d.Action, d.Counted, d.Reason = workflow.ActionFail, false, reason+", "+spent
		return d
	}
	own := budget{used: attempt, limit: r.MaxRetries}
	if least := tightest(p, own, history, global); least != own {
		d.Reason += ", " + least.retry()
	}
	if r.RecoveryScript != "" {
		d.Action, d.RecoveryScript = workflow.ActionRecover, r.RecoveryScript
		d.OnRecoveryError = workflow.ActionRetry // a failed script does not prevent the retry
	}
	return d
}

func codeWord(c workflow.Cause) string {
	if c.Kind == workflow.CauseExit {
		return "exit code"
	}
	return string(c.Kind) + ", return code"
}

// handlerRuleKey returns the key under which retries of rule i are counted.
func handlerRuleKey(h *workflow.FailureHandlerDefinition, i int) string {
	return fmt.Sprintf("handler:%s/%d", h.Name, i+1)
}
