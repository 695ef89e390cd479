package retry_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

const minuteMS = 60_000

// at moves an attempt: it takes a minute, to the given one, on a node.
func at(a *retry.RecordedAttempt, minute int64, node string) {
	start, end := (minute-1)*minuteMS, minute*minuteMS
	a.StartedMS, a.EndedMS, a.Node = &start, &end, node
}

// spread has the attempts of a job end at the given minutes, on node n1.
func spread(attempts []retry.RecordedAttempt, minutes ...int64) []retry.RecordedAttempt {
	for i, m := range minutes {
		at(&attempts[i], m, "n1")
	}
	return attempts
}

// Breakers open by the failures that the simulated policies see, in time; what
// they would have held is held, and what they would have kept is told.
func TestSimulatedBreakers(t *testing.T) {
	breaker := func(action workflow.BreakerAction, per workflow.BreakerScope) retry.SimulatedBreakers {
		return retry.SimulatedBreakers{Of: map[int64][]workflow.CircuitBreaker{1: {{
			Name: "b", Per: per, Cause: []workflow.CauseKind{workflow.CauseExit}, Threshold: 2, Within: "10m", Action: action, For: "20m",
		}}}}
	}
	jobs := func() [][]retry.RecordedAttempt {
		return [][]retry.RecordedAttempt{
			spread(recorded(1, "75 retry", "75 retry", "0 none"), 1, 5, 8),
			spread(recorded(2, "75 retry", "0 none"), 6, 27),
		}
	}
	for name, c := range map[string]struct {
		breakers   retry.SimulatedBreakers
		held, kept int64
		outcomes   retry.RetryOutcomes
	}{
		"hold":  {breaker(workflow.BreakerHold, workflow.PerWorkflow), 1, 0, retry.RetryOutcomes{Completed: 1, Held: 1}},
		"pause": {breaker(workflow.BreakerPause, workflow.PerWorkflow), 0, 1, retry.RetryOutcomes{Completed: 2}},
		"node":  {breaker(workflow.BreakerExcludeNode, workflow.PerNode), 0, 1, retry.RetryOutcomes{Completed: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got := simulateWith(c.breakers, licence(5), jobs()...)
			if diff := gocmp.Diff(c.outcomes, got.Simulated.Outcomes); diff != "" {
				t.Error(diff)
			}
			if got.BreakersOpened != 1 || len(got.Breakers) != 1 {
				t.Fatalf("breakers: %+v", got.Breakers)
			}
			b := got.Breakers[0]
			if b.SinceMS != 5*minuteMS || b.UntilMS != 25*minuteMS || b.Held != c.held || b.Kept != c.kept || b.WorkflowID != 1 || b.RunID != 1 {
				t.Errorf("%+v", b)
			}
			if notes := strings.Join(got.Notes, "\n"); strings.Contains(notes, "open circuit breaker") != (c.kept > 0) {
				t.Errorf("notes %q", notes)
			}
		})
	}
	// What the simulated policies save opens nothing.
	if got := simulateWith(breaker(workflow.BreakerPause, workflow.PerWorkflow), licence(0), jobs()[0]); got.BreakersOpened != 0 {
		t.Errorf("one failure: %+v", got.Breakers)
	}
}

// Of the breaker for the nodes of all workflows, what a runner took with it is one
// failure.
func TestSimulatedNodeBreaker(t *testing.T) {
	nodes := (&workflow.NodeBreaker{Threshold: 2})
	b, _ := nodes.Breaker()
	lost := func(job, runner, minute int64) []retry.RecordedAttempt {
		a := recorded(job, "1 fail")
		e := workflow.Evidence{LostRunner: true}
		c := failure.Classify(e, workflow.ReturnCodes{}, nil)
		a[0].WorkflowID, a[0].RunnerID, a[0].Evidence, a[0].Cause, a[0].Status, a[0].ReturnCode = job, &runner, e, c, c.Status, c.ReturnCode
		return spread(a, minute)
	}
	open := func(jobs ...[]retry.RecordedAttempt) int64 {
		return simulateWith(retry.SimulatedBreakers{Nodes: &b}, licence(0), jobs...).BreakersOpened
	}
	if n := open(lost(1, 7, 1), lost(2, 7, 1), lost(3, 7, 2)); n != 0 {
		t.Errorf("one lost runner opens %d", n)
	}
	if n := open(lost(1, 7, 1), lost(2, 7, 1), lost(3, 8, 2)); n != 1 {
		t.Errorf("two lost runners open %d", n)
	}
	if n := open(lost(1, 7, 1), lost(3, 8, 40)); n != 0 {
		t.Errorf("two lost runners, far apart, open %d", n)
	}
}

// The delays of the simulated retries are summed beside those of the recorded.
func TestSimulatedDelays(t *testing.T) {
	job := recorded(1, "75 retry", "75 retry", "75 retry", "0 none")
	job[0].Policies.Workflow[0].Backoff = &workflow.Backoff{Kind: workflow.BackoffFixed, Initial: "30s"}
	policies := licence(2)
	policies[0].Backoff = &workflow.Backoff{Initial: "10s", Factor: new(3.0), Max: "1h"}
	got := simulate(policies, job)
	if got.Recorded.DelaySeconds != 90 || got.Simulated.DelaySeconds != 40 {
		t.Errorf("delays: %v recorded, %v simulated", got.Recorded.DelaySeconds, got.Simulated.DelaySeconds)
	}
}

// What no policy was asked about stays as it was, and where the job would not have
// run is told.
func TestSimulationKeepsWhatNobodyDecided(t *testing.T) {
	expired := recorded(1, "75 fail")
	expired[0].ByClient, expired[0].Decision.Rule = true, "timeouts.queue"
	outgrown := recorded(2, "75 fail")
	outgrown[0].Decision.PolicyHash, outgrown[0].Policies = "", nil
	again := spread(recorded(3, "75 retry", "0 none"), 1, 2)
	policies := licence(5)
	policies[0].AvoidNodes = &workflow.AvoidNodes{Mode: workflow.AvoidLast}
	got := simulate(policies, expired, outgrown, again)
	if got.Simulated.Outcomes.Failed != 2 || got.Simulated.Outcomes.Completed != 1 {
		t.Errorf("outcomes: %+v", got.Simulated.Outcomes)
	}
	want := []string{
		"ended without a policy: 2 (timeouts.queue, timeouts.total, or a retry that fits nowhere); taken as recorded",
		"attempts on a node that the job would have avoided: 1; taken as recorded",
	}
	if diff := gocmp.Diff(want, got.Notes); diff != "" {
		t.Error(diff)
	}
	// A process that failed counts for breakers all the same, a wait does not.
	breakers := retry.SimulatedBreakers{Of: map[int64][]workflow.CircuitBreaker{1: {{Per: workflow.PerWorkflow, Threshold: 1, Within: "1h", Action: workflow.BreakerPause}}}}
	for what, job := range map[int64][]retry.RecordedAttempt{0: expired, 1: outgrown} {
		if n := simulateWith(breakers, policies, job).BreakersOpened; n != what {
			t.Errorf("%d breakers opened by %+v, want %d", n, job[0].Decision, what)
		}
	}
}
