package hold_test

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func TestFailureGroupLine(t *testing.T) {
	exit := workflow.Cause{Kind: workflow.CauseExit, ReturnCode: 3, Text: "exit code 3"}
	for _, tc := range []struct {
		g    hold.FailureGroup
		c    workflow.Cause
		e    workflow.Evidence
		want string
	}{
		{hold.FailureGroup{Count: 31, Attempts: 31, FirstName: "s_10", LastName: "s_40"}, exit, workflow.Evidence{StderrTail: "x\nRuntimeError: CFL violated at step 812\n"},
			"31 jobs, exit 3: RuntimeError: CFL violated at step N (s_10 … s_40)"},
		{hold.FailureGroup{Count: 2, Attempts: 6, FirstName: "a", LastName: "b"}, workflow.Cause{Kind: workflow.CauseOOM, Text: "out of memory"}, workflow.Evidence{},
			"2 jobs, oom: out of memory (a, b; 6 attempts)"},
		{hold.FailureGroup{Count: 1, Attempts: 1, FirstName: "a", LastName: "a"}, exit, workflow.Evidence{}, "1 job, exit 3 (a)"},
		{hold.FailureGroup{Count: 1, Attempts: 1, FirstName: "a", LastName: "a"}, exit, workflow.Evidence{TerminationMessage: "no mesh"}, "1 job, exit 3: no mesh (a)"},
	} {
		if tc.g.Describe(tc.c, tc.e); tc.g.Line() != tc.want {
			t.Errorf("%q, want %q", tc.g.Line(), tc.want)
		}
	}
}
