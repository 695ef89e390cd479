package explain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// RetryFacts is how much a job has used of the retry budgets of its run.
type RetryFacts struct {
	Rules     map[string]workflow.RuleCount // by the key of the rule
	Counted   int64                         // retries of the job that count against its budget
	OfAllJobs int64                         // such retries in the run; only if max_retries_total is set
	Policies  retry.Policies                // the present ones
	Avoided   []workflow.AvoidedNode
}

// lines returns what has been used of each budget, and which nodes the next attempt
// avoids. When that may start is part of the job's state.
func (f *RetryFacts) lines(nowMS int64) []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(f.Rules)) {
		lines = append(lines, f.rule(key))
	}
	if limit := f.Policies.GlobalMaxRetries; limit != nil && len(f.Rules) > 0 {
		lines = append(lines, fmt.Sprintf("of this job: %d of %d (global_max_retries)", f.Counted, *limit))
	}
	if limit := f.Policies.MaxRetriesTotal; limit != nil && len(f.Rules) > 0 {
		lines = append(lines, fmt.Sprintf("of all jobs: %d of %d (max_retries_total)", f.OfAllJobs, *limit))
	}
	for _, n := range f.Avoided {
		switch {
		case n.UntilMS == 0:
			lines = append(lines, "avoids "+n.Node)
		case n.UntilMS > nowMS:
			lines = append(lines, fmt.Sprintf("avoids %s for another %s", n.Node, workflow.AgoMS(nowMS, n.UntilMS)))
		}
	}
	return lines
}

// rule returns how many retries one rule has granted: "io/busy: 2 of 3".
func (f *RetryFacts) rule(key string) string {
	n := f.Rules[key]
	limit, name, known := retry.FindRuleLimit(&f.Policies, key)
	text := key + ":"
	if n.Counted > 0 || n.Free == 0 {
		text += " " + used(n.Counted, limit.Counted, known)
		if name != "" {
			text += " (" + name + ")"
		}
	}
	if n.Free > 0 {
		text += fmt.Sprintf(" %s free", used(n.Free, limit.Free, known))
	}
	return text
}

func used(n, limit int64, known bool) string {
	if !known {
		return fmt.Sprintf("%d, by a rule that no longer exists", n)
	}
	return fmt.Sprintf("%d of %d", n, limit)
}
