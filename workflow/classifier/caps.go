package classifier

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// Exceeds returns why a proposal of a call is left to a person; "" if it is within the caps.
// held are the held jobs of the workflow, by id.
func (l *Limits) Exceeds(c *Call, p *proposal.Proposal, change *proposal.Change, held map[int64]hold.HeldJob) string {
	switch {
	case !l.Apply:
		return "a person applies it (apply is off)"
	case p.Kind == proposal.Question:
		return "it asks a person to decide"
	case p.Kind != proposal.Classify:
		return fmt.Sprintf("it is of the kind %s, and only decisions about held jobs are applied without a person", p.Kind)
	case change.Force:
		return "it asks for more than is known to fit anywhere"
	}
	for i := range p.Jobs {
		j, ok := held[p.Jobs[i].JobID]
		if !ok || !c.About(j.Fingerprint) {
			return fmt.Sprintf("it is about job %d, which the agent was not asked about", p.Jobs[i].JobID)
		}
	}
	for i := range change.Verdicts {
		if why := l.verdictExceeds(&change.Verdicts[i], held); why != "" {
			return why
		}
	}
	return ""
}

func (l *Limits) verdictExceeds(v *hold.HoldVerdict, held map[int64]hold.HeldJob) string {
	if v.Action != workflow.ActionRetry {
		return ""
	}
	for _, id := range append([]int64{v.JobID}, v.JobIDs...) {
		if j, ok := held[id]; ok && workflow.ClassifiedRetryLimit-j.RetriesLeft >= l.MaxRetries {
			return fmt.Sprintf("job %d was retried %s by decisions, and max_retries is %d", id, workflow.CountOf(workflow.ClassifiedRetryLimit-j.RetriesLeft, "time", "times"), l.MaxRetries)
		}
	}
	if v.Memory != "" {
		if n, err := workflow.ParseMemory(v.Memory); err != nil || n > l.MaxMemory {
			return exceeds("memory", v.Memory, "max_memory", l.MaxMemory == 0, workflow.FormatMemory(l.MaxMemory))
		}
	}
	if v.Runtime != "" {
		if d, err := workflow.ParseDuration(v.Runtime); err != nil || d > l.MaxRuntime {
			return exceeds("a runtime of", v.Runtime, "max_runtime", l.MaxRuntime == 0, workflow.FormatDuration(l.MaxRuntime))
		}
	}
	if v.NumCPUs > l.MaxCPUs {
		return exceeds("CPUs:", fmt.Sprint(v.NumCPUs), "max_cpus", l.MaxCPUs == 0, fmt.Sprint(l.MaxCPUs))
	}
	return ""
}

func exceeds(what, value, key string, unset bool, most string) string {
	if unset {
		return fmt.Sprintf("it asks for %s %s, and there is no %s", what, value, key)
	}
	return fmt.Sprintf("it asks for %s %s, and %s is %s", what, value, key, most)
}
