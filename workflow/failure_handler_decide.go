package workflow

import (
	"fmt"
	"math"
	"slices"
)

// match returns the index of the rule for a return code, -1 if there is none:
// the first that names it, else the first that matches all.
func (h *FailureHandlerDefinition) match(code int64) int {
	exact := slices.IndexFunc(h.Rules, func(r FailureRule) bool { return slices.Contains(r.ExitCodes, code) })
	if exact >= 0 {
		return exact
	}
	return slices.IndexFunc(h.Rules, func(r FailureRule) bool { return r.MatchAllExitCodes })
}

// decide applies rule i. Its max_retries is torc's: the number of attempts,
// counting those that used budget. The limits over all retries bind it only if
// somebody has set them.
func (h *FailureHandlerDefinition) decide(i int, p *Policies, history *History, c Cause) Decision {
	r := h.Rules[i]
	attempt := history.Attempt()
	reason := fmt.Sprintf("rule %d of handler %s: %s %d, attempt %d of %d",
		i+1, h.Name, codeWord(c), c.ReturnCode, attempt, r.MaxRetries)
	d := Decision{Action: ActionRetry, Rule: h.key(i), Reason: reason, Counted: true}
	global := int64(math.MaxInt64)
	if p.GlobalMaxRetries != nil {
		global = *p.GlobalMaxRetries
	}
	spent := p.spent(history, global)
	switch {
	case attempt >= r.MaxRetries:
		d.Action, d.Counted, d.Reason = ActionFail, false, reason+", none left"
		return d
	case spent != "":
		d.Action, d.Counted, d.Reason = ActionFail, false, reason+", "+spent
		return d
	}
	own := budget{used: attempt, limit: r.MaxRetries}
	if least := p.tightest(own, history, global); least != own {
		d.Reason += ", " + least.retry()
	}
	if r.RecoveryScript != "" {
		d.Action, d.RecoveryScript = ActionRecover, r.RecoveryScript
		d.OnRecoveryError = ActionRetry // a broken script does not take the retry away
	}
	return d
}

func codeWord(c Cause) string {
	if c.Kind == CauseExit {
		return "exit code"
	}
	return string(c.Kind) + ", return code"
}

// key is what retries that rule i grants are counted under.
func (h *FailureHandlerDefinition) key(i int) string {
	return fmt.Sprintf("handler:%s/%d", h.Name, i+1)
}
