package retry_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// recorded makes the attempts of a job from words: what the attempt exited with,
// and what was decided: retry, free, fail, hold or none. Each takes an hour of
// two CPUs.
func recorded(job int64, words ...string) []retry.RecordedAttempt {
	policies := &retry.Policies{Default: retry.DefaultPolicy(), Workflow: []workflow.RetryPolicy{
		{Name: "old", Rules: []workflow.RetryRule{{ID: "all", Action: workflow.ActionRetry}}},
	}}
	var all []retry.RecordedAttempt
	for i, word := range words {
		code, action, _ := strings.Cut(word, " ")
		var exit, start, end int64 = 0, 0, 3_600_000
		e := workflow.Evidence{ExitCode: &exit}
		if _, err := fmt.Sscan(code, &exit); err != nil { // no number: preempted
			e = workflow.Evidence{Slurm: &workflow.SlurmEvidence{JobState: "PREEMPTED"}}
		}
		cause := failure.Classify(e, workflow.ReturnCodes{}, nil)
		d := workflow.Decision{Action: workflow.Action(action), PolicyHash: policies.Hash()}
		switch action {
		case "free":
			d.Action, d.Rule = workflow.ActionRetry, "default/preempted"
		case "retry":
			d.Rule, d.Counted = "old/all", true
		}
		all = append(all, retry.RecordedAttempt{CPUs: 2, Policies: policies, Attempt: workflow.Attempt{
			WorkflowID: 1, JobID: job, RunID: 1, AttemptID: int64(i + 1), StartedMS: &start, EndedMS: &end,
			Status: cause.Status, ReturnCode: cause.ReturnCode, Cause: cause, Evidence: e, Decision: d,
		}})
	}
	return all
}

// licence retries exit code 75 so often.
func licence(limit int64) []workflow.RetryPolicy {
	return []workflow.RetryPolicy{{Name: "new", Rules: []workflow.RetryRule{
		{ID: "licence", When: workflow.RuleMatch{ExitCode: &workflow.ExitCodeMatch{In: []int64{75}}}, Action: workflow.ActionRetry, Limit: &limit},
	}}}
}

func simulate(policies []workflow.RetryPolicy, jobs ...[]retry.RecordedAttempt) retry.RetrySimulation {
	return simulateWith(retry.SimulatedBreakers{}, policies, jobs...)
}

// simulateWith takes attempts in the order in which they ended, and of one job as
// they are.
func simulateWith(breakers retry.SimulatedBreakers, policies []workflow.RetryPolicy, jobs ...[]retry.RecordedAttempt) retry.RetrySimulation {
	s := retry.NewSimulator(policies, breakers)
	all := slices.Concat(jobs...)
	slices.SortStableFunc(all, func(a, b retry.RecordedAttempt) int { return cmp.Compare(*a.EndedMS, *b.EndedMS) })
	for i := range all {
		s.Add(&all[i])
	}
	return s.Result()
}

func TestRetrySimulation(t *testing.T) {
	counted := func(n int64) workflow.RuleCount { return workflow.RuleCount{Counted: n} }
	for name, c := range map[string]struct {
		attempts []retry.RecordedAttempt
		limit    int64
		want     retry.RetryTally
		note     string // the beginning of one; empty: there is none
	}{
		"the same retries": {recorded(1, "75 retry", "75 retry", "0 none"), 2,
			retry.RetryTally{Retries: counted(2), Attempts: 3, CoreHours: 6, Outcomes: retry.RetryOutcomes{Completed: 1}}, ""},
		"the limit is reached earlier": {recorded(1, "75 retry", "75 retry", "0 none"), 1,
			retry.RetryTally{Retries: counted(1), Attempts: 2, CoreHours: 4, Outcomes: retry.RetryOutcomes{Failed: 1}}, ""},
		"no rule matches": {recorded(1, "9 retry", "9 retry", "9 fail"), 5,
			retry.RetryTally{Attempts: 1, CoreHours: 2, Outcomes: retry.RetryOutcomes{Failed: 1}}, ""},
		"what would have come is unknown": {recorded(1, "75 fail"), 5,
			retry.RetryTally{Retries: counted(1), Attempts: 1, CoreHours: 2, Outcomes: retry.RetryOutcomes{TriedAgain: 1}}, "tried again: 1"},
		"instead of a hold": {recorded(1, "9 hold"), 5,
			retry.RetryTally{Attempts: 1, CoreHours: 2, Outcomes: retry.RetryOutcomes{Failed: 1}}, ""},
		"the default goes on to decide": {recorded(1, "PREEMPTED free", "0 none"), 5,
			retry.RetryTally{Retries: workflow.RuleCount{Free: 1}, Attempts: 2, CoreHours: 4, Outcomes: retry.RetryOutcomes{Completed: 1}}, ""},
		"the next attempt is not recorded yet": {recorded(1, "75 retry"), 5,
			retry.RetryTally{Retries: counted(1), Attempts: 1, CoreHours: 2, Outcomes: retry.RetryOutcomes{Open: 1}}, ""},
		"begun anew by hand": {recorded(1, "9 fail", "75 retry", "0 none"), 1,
			retry.RetryTally{Retries: counted(1), Attempts: 3, CoreHours: 6, Outcomes: retry.RetryOutcomes{Completed: 1, Failed: 1}}, "restarted by a user: 1"},
		"the beginning is missing": {recorded(1, "75 retry", "75 retry", "0 none")[1:], 1,
			retry.RetryTally{Retries: counted(1), Attempts: 2, CoreHours: 4, Outcomes: retry.RetryOutcomes{Completed: 1}}, "history missing: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := simulate(licence(c.limit), c.attempts)
			if diff := gocmp.Diff(c.want, got.Simulated); diff != "" {
				t.Error(diff)
			}
			if notes := strings.Join(got.Notes, "\n"); (notes == "") != (c.note == "") || !strings.HasPrefix(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}

// The policies that decided decide the same again.
func TestRetrySimulationOfTheSamePolicies(t *testing.T) {
	job := recorded(1, "75 retry", "PREEMPTED retry", "9 retry", "0 none")
	got := simulate(job[0].Policies.Workflow, job)
	if diff := gocmp.Diff(got.Recorded.Outcomes, got.Simulated.Outcomes); diff != "" || got.Simulated.Attempts != 4 {
		t.Errorf("%+v %s", got, diff)
	}
	if len(got.Notes) > 0 {
		t.Errorf("notes: %q", got.Notes)
	}
}

// What makes a simulation uncertain is said, and budgets over all jobs bind it.
func TestRetrySimulationGolden(t *testing.T) {
	one := int64(1)
	budget := recorded(2, "75 retry", "0 none")
	budget[0].Policies.MaxRetriesTotal = &one
	long := recorded(3, "75 fail")
	long[0].Evidence.StderrTail = strings.Repeat("x", 4096)
	unknown := recorded(4, "75 hold")
	unknown[0].Policies = nil
	client := recorded(5, "75 fail")
	client[0].ByClient = true
	policies := licence(3)
	policies[0].Rules[0].AvoidNodes = &workflow.AvoidNodes{Mode: workflow.AvoidLast}
	policies[0].Rules = append(policies[0].Rules, workflow.RetryRule{ID: "io", When: workflow.RuleMatch{Stderr: "Stale"}, Action: workflow.ActionRetry})
	got := simulate(policies, recorded(1, "75 retry", "9 retry", "9 fail", "0 none"), budget, long, unknown, client, recorded(6, "9 fail", "0 none")[1:])
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/simulation.golden", string(text)+"\n")
}
