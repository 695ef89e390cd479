package explain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// RetryFacts is what a job has used of the budgets for retries in its run.
type RetryFacts struct {
	Rules     map[string]workflow.RuleCount // by the key of the rule
	Counted   int64                         // retries of the job that used budget
	OfAllJobs int64                         // of the run; only where max_retries_total is given
	Policies  retry.Policies                // as they are now
	Avoided   []workflow.AvoidedNode
}

// lines say what is used and where the next attempt does not run. When it may
// start is part of the job's state.
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
			lines = append(lines, "keeps away from "+n.Node)
		case n.UntilMS > nowMS:
			lines = append(lines, fmt.Sprintf("keeps away from %s for %s", n.Node, workflow.AgoMS(nowMS, n.UntilMS)))
		}
	}
	return lines
}

// rule says what one rule has granted: "io/busy: 2 of 3".
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
		return fmt.Sprintf("%d, by a rule that is not there any more", n)
	}
	return fmt.Sprintf("%d of %d", n, limit)
}
