package retry

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// budget is how many counted retries there may be, and have been.
type budget struct {
	used, limit int64
	name        string // of the limit; empty: the rule's own
}

func (b budget) left() int64 { return b.limit - b.used }

// retry names the next retry: "retry 1 of 3", "retry 5 of 20 (global_max_retries)".
func (b budget) retry() string {
	text := fmt.Sprintf("retry %d of %d", b.used+1, b.limit)
	if b.name != "" {
		text += " (" + b.name + ")"
	}
	return text
}

// spent says that none is left, of retries that are such as "free ".
func (b budget) spent(kind string) string {
	text := fmt.Sprintf("all %d %s%s used", b.limit, kind, workflow.Plural(b.limit, "retry", "retries"))
	if b.limit == 0 {
		text = fmt.Sprintf("no %sretry is granted", kind)
	}
	if b.name != "" {
		text += " (" + b.name + ")"
	}
	return text
}

// The names of limits that are not a rule's own.
const (
	limitOfPolicy = "retry_limit"
	limitOfJob    = "global_max_retries"
	limitOfRun    = "max_retries_total of the workflow"
)

// overall are the budgets over several rules. Global is how many counted retries
// the job may have of all of them.
func overall(p *Policies, h *workflow.History, global int64) []budget {
	all := []budget{{h.CountedFails, global, limitOfJob}}
	if p.MaxRetriesTotal != nil {
		all = append(all, budget{h.WorkflowRetries, *p.MaxRetriesTotal, limitOfRun})
	}
	return all
}

// tightest returns the budget that is used up first: that of a rule, or one over
// several.
func tightest(p *Policies, ofRule budget, h *workflow.History, global int64) budget {
	least := ofRule
	for _, b := range overall(p, h, global) {
		if b.left() < least.left() {
			least = b
		}
	}
	return least
}

// limitName says where the limit of a rule comes from.
func limitName(policy *workflow.RetryPolicy, r *workflow.RetryRule) string {
	switch {
	case r.Limit != nil:
		return ""
	case policy.RetryLimit != nil:
		return limitOfPolicy
	}
	return limitOfJob
}
