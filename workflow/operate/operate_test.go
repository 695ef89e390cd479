package operate_test

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

func TestEffectOf(t *testing.T) {
	for _, tc := range []struct {
		name string
		verb operate.Verb
		f    operate.JobFacts
		want operate.Effect
		says string
	}{
		{"cancel a ready job", operate.Cancel, operate.JobFacts{Status: workflow.Ready}, operate.Changed, ""},
		{"a held one", operate.Cancel, operate.JobFacts{Status: workflow.Blocked, Held: true}, operate.Changed, ""},
		{"one that waits for a person", operate.Cancel, operate.JobFacts{Status: workflow.PendingFailed}, operate.Changed, ""},
		{"a running one", operate.Cancel, operate.JobFacts{Status: workflow.Running}, operate.Ending, ""},
		{"a claimed one", operate.Cancel, operate.JobFacts{Status: workflow.Pending}, operate.Ending, ""},
		{"one whose recovery script runs", operate.Cancel, operate.JobFacts{Status: workflow.Pending, Recovering: true}, operate.Changed, ""},
		{"one that is ending", operate.Cancel, operate.JobFacts{Status: workflow.Running, Canceling: true}, operate.Unchanged, "is ending it"},
		{"one of torc", operate.Cancel, operate.JobFacts{Status: workflow.Running, Unreachable: true}, operate.Rejected, "runner of torc"},
		{"a canceled one", operate.Cancel, operate.JobFacts{Status: workflow.Canceled}, operate.Unchanged, "canceled"},
		{"a completed one", operate.Cancel, operate.JobFacts{Status: workflow.Completed}, operate.Rejected, "it has ended: completed"},
		{"before the run", operate.Cancel, operate.JobFacts{Status: workflow.Uninitialized}, operate.Rejected, "not part of a run"},
		{"in a sub-workflow that has not begun", operate.Cancel, operate.JobFacts{Status: workflow.Blocked, Part: operate.PartNotBegun}, operate.Rejected, "has not begun"},
		{"the end job", operate.Cancel, operate.JobFacts{Status: workflow.Running, Part: operate.PartEnd}, operate.Rejected, "the end job"},
		{"an undo", operate.Cancel, operate.JobFacts{Status: workflow.Running, Part: operate.PartCompensation}, operate.Rejected, "compensation"},
		{"hold a ready job", operate.Hold, operate.JobFacts{Status: workflow.Ready}, operate.Changed, ""},
		{"before the run", operate.Hold, operate.JobFacts{Status: workflow.Uninitialized}, operate.Changed, ""},
		{"twice", operate.Hold, operate.JobFacts{Status: workflow.Ready, Held: true}, operate.Unchanged, "is held"},
		{"a running one", operate.Hold, operate.JobFacts{Status: workflow.Running}, operate.Rejected, "`jobs cancel` ends it"},
		{"one that waits for a person", operate.Hold, operate.JobFacts{Status: workflow.PendingFailed}, operate.Rejected, "classification"},
		{"a failed one", operate.Hold, operate.JobFacts{Status: workflow.Failed}, operate.Rejected, "it has ended: failed"},
		{"the end job", operate.Hold, operate.JobFacts{Status: workflow.Blocked, Part: operate.PartEnd}, operate.Rejected, "the end job"},
		{"release a held job", operate.Release, operate.JobFacts{Status: workflow.Ready, Held: true}, operate.Changed, ""},
		{"one that is not held", operate.Release, operate.JobFacts{Status: workflow.Ready}, operate.Unchanged, "not held"},
		{"a higher priority", operate.Prioritize, operate.JobFacts{Status: workflow.Ready, NewPriority: 2}, operate.Changed, ""},
		{"the same", operate.Prioritize, operate.JobFacts{Status: workflow.Ready, Priority: 2, NewPriority: 2}, operate.Unchanged, "its priority is 2"},
		{"of an ended job", operate.Prioritize, operate.JobFacts{Status: workflow.Completed, NewPriority: 2}, operate.Rejected, "has ended"},
	} {
		got, why := operate.EffectOf(tc.verb, tc.f)
		if got != tc.want || !strings.Contains(why, tc.says) || (why == "") != (tc.says == "") {
			t.Errorf("%s: %s, %q; want %s, %q", tc.name, got, why, tc.want, tc.says)
		}
	}
}
