package classifier

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

func TestExceeds(t *testing.T) {
	retry := func(change ...func(*hold.HoldVerdict)) proposal.Change {
		v := hold.HoldVerdict{JobIDs: []int64{1}, Action: workflow.ActionRetry, Reason: "x"}
		for _, c := range change {
			c(&v)
		}
		return proposal.Change{Verdicts: []hold.HoldVerdict{v}}
	}
	memory := func(m string) func(*hold.HoldVerdict) { return func(v *hold.HoldVerdict) { v.Memory = m } }
	runtime := func(r string) func(*hold.HoldVerdict) { return func(v *hold.HoldVerdict) { v.Runtime = r } }
	cpus := func(v *hold.HoldVerdict) { v.NumCPUs = 8 }
	fails := func(v *hold.HoldVerdict) { v.Action = workflow.ActionFail }
	none, two := int64(0), int64(2)
	caps := workflow.ClassifierPolicy{Apply: true, MaxMemory: "16g", MaxRuntime: "2h", MaxCPUs: 8}
	for _, tc := range []struct {
		name   string
		policy workflow.ClassifierPolicy
		kind   proposal.Kind
		jobs   []int64
		change proposal.Change
		why    string
	}{
		{"a retry", workflow.ClassifierPolicy{Apply: true}, "", nil, retry(), ""},
		{"apply is off", workflow.ClassifierPolicy{}, "", nil, retry(), "apply is off"},
		{"a failure", workflow.ClassifierPolicy{Apply: true}, "", nil, retry(fails), ""},
		{"up to the caps", caps, "", nil, retry(memory("16g"), runtime("PT2H"), cpus), ""},
		{"10 TB", caps, "", nil, retry(memory("10t")), "memory 10t, and max_memory is 16g"},
		{"memory without a cap", workflow.ClassifierPolicy{Apply: true}, "", nil, retry(memory("1m")), "there is no max_memory"},
		{"a longer runtime", caps, "", nil, retry(runtime("PT2H1S")), "max_runtime is 2h"},
		{"a runtime without a cap", workflow.ClassifierPolicy{Apply: true}, "", nil, retry(runtime("PT1S")), "there is no max_runtime"},
		{"CPUs without a cap", workflow.ClassifierPolicy{Apply: true}, "", nil, retry(cpus), "there is no max_cpus"},
		{"no retries at all", workflow.ClassifierPolicy{Apply: true, MaxRetries: &none}, "", nil, retry(), "max_retries is 0"},
		{"the second retry", workflow.ClassifierPolicy{Apply: true}, "", []int64{2}, retry(func(v *hold.HoldVerdict) { v.JobIDs = []int64{2} }), "retried 1 time by decisions, and max_retries is 1"},
		{"two retries", workflow.ClassifierPolicy{Apply: true, MaxRetries: &two}, "", []int64{2}, retry(func(v *hold.HoldVerdict) { v.JobIDs = []int64{2} }), ""},
		{"not asked about", caps, "", []int64{3}, retry(), "job 3, which the agent was not asked about"},
		{"not held", caps, "", []int64{4}, retry(), "job 4, which the agent was not asked about"},
		{"force", caps, "", nil, proposal.Change{Force: true}, "known to fit"},
		{"a question", caps, proposal.Question, nil, retry(), "asks a person"},
		{"another kind", caps, proposal.Recover, nil, proposal.Change{}, "of the kind recover"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := proposal.Proposal{Kind: proposal.Classify}
			if tc.kind != "" {
				p.Kind = tc.kind
			}
			if tc.jobs == nil {
				tc.jobs = []int64{1}
			}
			for _, id := range tc.jobs {
				p.Jobs = append(p.Jobs, proposal.JobChange{JobID: id})
			}
			held := map[int64]hold.HeldJob{1: job(1, "a"), 2: job(2, "a", func(j *hold.HeldJob) { j.RetriesLeft = 2 }), 3: job(3, "b")}
			l := LimitsOf(&tc.policy)
			got := l.Exceeds(&Call{Asked: []Asked{{"a", 2}}}, &p, &tc.change, held)
			if (got == "") != (tc.why == "") || !strings.Contains(got, tc.why) {
				t.Errorf("%q, want %q", got, tc.why)
			}
		})
	}
}
