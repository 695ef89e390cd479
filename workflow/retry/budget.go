package retry

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// budget is a limit of counted retries, and how many have been used.
type budget struct {
	used, limit int64
	name        string // of the limit; empty: the rule's own
}

func (b budget) left() int64 { return b.limit - b.used }

// retry returns the number of the next retry as text: "retry 1 of 3", "retry 5 of 20
// (global_max_retries)".
func (b budget) retry() string {
	text := fmt.Sprintf("retry %d of %d", b.used+1, b.limit)
	if b.name != "" {
		text += " (" + b.name + ")"
	}
	return text
}

// spent returns the text for a used-up budget; kind is "" or "free ".
func (b budget) spent(kind string) string {
	text := fmt.Sprintf("all %d %s%s used", b.limit, kind, workflow.Plural(b.limit, "retry", "retries"))
	if b.limit == 0 {
		text = fmt.Sprintf("no %sretries are allowed", kind)
	}
	if b.name != "" {
		text += " (" + b.name + ")"
	}
	return text
}

// The names of limits that are not set by a rule.
const (
	limitOfPolicy = "retry_limit"
	limitOfJob    = "global_max_retries"
	limitOfRun    = "max_retries_total of the workflow"
)

// overall returns the budgets that span several rules. The argument global is the maximum
// number of counted retries of the job.
func overall(p *Policies, h *workflow.History, global int64) []budget {
	all := []budget{{h.CountedFails, global, limitOfJob}}
	if p.MaxRetriesTotal != nil {
		all = append(all, budget{h.WorkflowRetries, *p.MaxRetriesTotal, limitOfRun})
	}
	return all
}

// tightest returns the budget with the fewest retries left: that of a rule, or one that
// spans several rules.
func tightest(p *Policies, ofRule budget, h *workflow.History, global int64) budget {
	least := ofRule
	for _, b := range overall(p, h, global) {
		if b.left() < least.left() {
			least = b
		}
	}
	return least
}

// limitName returns the name of the setting that limits a rule; "" for the rule's own.
func limitName(policy *workflow.RetryPolicy, r *workflow.RetryRule) string {
	switch {
	case r.Limit != nil:
		return ""
	case policy.RetryLimit != nil:
		return limitOfPolicy
	}
	return limitOfJob
}
