package workflow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestBreakerSubject(t *testing.T) {
	failed := func(kind CauseKind, node, category string) Failure {
		return Failure{Cause: Cause{Kind: kind, Status: Failed}, Node: node, Evidence: Evidence{Category: category}}
	}
	drained := failed(CauseWalltime, "n1", "gpu")
	drained.Cause.ByDrain = true
	canceled := failed(CauseCanceledUser, "n1", "gpu")
	canceled.Cause.Status = Canceled
	completed := failed(CauseOK, "n1", "gpu")
	completed.Cause.Status = Completed
	ofGPU := CircuitBreaker{Per: PerNode, Category: "gpu"}
	for _, tc := range []struct {
		name    string
		b       CircuitBreaker
		f       Failure
		subject string
		ok      bool
	}{
		{"by node", CircuitBreaker{Per: PerNode}, failed(CauseExit, "n1", ""), "n1", true},
		{"on no node", CircuitBreaker{Per: PerNode}, failed(CauseExit, "", ""), "", false},
		{"by category", CircuitBreaker{Per: PerCategory}, failed(CauseExit, "n1", "gpu"), "gpu", true},
		{"of no category", CircuitBreaker{Per: PerCategory}, failed(CauseExit, "n1", ""), "", false},
		{"of the workflow", CircuitBreaker{Per: PerWorkflow}, failed(CauseExit, "", ""), "", true},
		{"its category", ofGPU, failed(CauseExit, "n1", "gpu"), "n1", true},
		{"another category", ofGPU, failed(CauseExit, "n1", "disk"), "", false},
		{"one of its causes", CircuitBreaker{Per: PerNode, Cause: []CauseKind{CauseOOM, CauseLost}}, failed(CauseLost, "n1", ""), "n1", true},
		{"another cause", CircuitBreaker{Per: PerNode, Cause: []CauseKind{CauseOOM}}, failed(CauseExit, "n1", ""), "", false},
		{"taken from the job", CircuitBreaker{Per: PerNode}, failed(CausePreempted, "n1", ""), "", false},
		{"ended by our own drain", CircuitBreaker{Per: PerNode}, drained, "", false},
		{"cut by the time limit", CircuitBreaker{Per: PerNode}, failed(CauseWalltime, "n1", ""), "n1", true},
		{"canceled by somebody", CircuitBreaker{Per: PerNode}, canceled, "", false},
		{"a success", CircuitBreaker{Per: PerNode}, completed, "", false},
	} {
		if subject, ok := tc.b.Subject(&tc.f); subject != tc.subject || ok != tc.ok {
			t.Errorf("%s: %q, %v", tc.name, subject, ok)
		}
	}
}

func TestNewTrip(t *testing.T) {
	attempts := []TripAttempt{{JobID: 1, AttemptID: 2, Node: "n1", Cause: CauseLost}}
	for _, tc := range []struct {
		name    string
		b       CircuitBreaker
		subject string
		count   int64
		until   time.Duration
		reason  string
	}{
		{"node", CircuitBreaker{Per: PerNode, Threshold: 3, Within: "PT1H", Action: BreakerExcludeNode}, "n1", 3, time.Hour,
			"circuit breaker node-exclude_node: 3 attempts have failed on n1 within 1h"},
		{"node, some causes", CircuitBreaker{Name: "lost", Per: PerNode, Cause: []CauseKind{CauseLost, CauseLaunch}, Within: "30m", Action: BreakerExcludeNode, For: "PT2H"}, "n1", 1, 2 * time.Hour,
			"circuit breaker lost: 1 attempt has failed by cause lost, launch on n1 within 30m"},
		{"each category", CircuitBreaker{Per: PerCategory, Within: "PT1H", Action: BreakerHold}, "gpu", 5, time.Hour,
			"circuit breaker category-hold: 5 attempts have failed with category gpu within 1h"},
		{"one category", CircuitBreaker{Per: PerCategory, Category: "gpu", Within: "PT1H", Action: BreakerHold}, "gpu", 5, time.Hour,
			"circuit breaker category-gpu-hold: 5 attempts have failed with category gpu within 1h"},
		{"workflow", CircuitBreaker{Per: PerWorkflow, Cause: []CauseKind{CauseOOM}, Within: "PT1H", Action: BreakerPause}, "", 9, time.Hour,
			"circuit breaker workflow-oom-pause: 9 attempts have failed by cause oom within 1h"},
	} {
		got := tc.b.NewTrip(tc.subject, attempts, tc.count, nowMS)
		want := BreakerTrip{Breaker: tc.b.Key(), Threshold: tc.b.Threshold, Within: tc.b.Within, Per: tc.b.Per, Subject: tc.subject, Category: tc.b.Category, Cause: tc.b.Cause, Action: tc.b.Action,
			Reason: tc.reason, Attempts: attempts, SinceMS: nowMS, UntilMS: nowMS + tc.until.Milliseconds()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.name, diff)
		}
	}
}

// TestTripHolds: an open breaker holds just the failures that it counts, and only
// those of its subject.
func TestTripHolds(t *testing.T) {
	f := func(kind CauseKind, category string) *Failure {
		return &Failure{Cause: Cause{Kind: kind, Status: Failed}, Node: "n1", Evidence: Evidence{Category: category}}
	}
	gpu := CircuitBreaker{Per: PerCategory, Within: "1h", Action: BreakerHold}
	oom := CircuitBreaker{Per: PerWorkflow, Cause: []CauseKind{CauseOOM}, Within: "1h", Action: BreakerHold}
	pause := CircuitBreaker{Per: PerWorkflow, Within: "1h", Action: BreakerPause}
	for _, tc := range []struct {
		name    string
		b       CircuitBreaker
		subject string
		f       *Failure
		want    bool
	}{
		{"its category", gpu, "gpu", f(CauseExit, "gpu"), true},
		{"another category", gpu, "gpu", f(CauseExit, "disk"), false},
		{"its cause", oom, "", f(CauseOOM, ""), true},
		{"another cause", oom, "", f(CauseExit, ""), false},
		{"taken, which is not counted", gpu, "gpu", f(CausePreempted, "gpu"), false},
		{"another action", pause, "", f(CauseExit, ""), false},
	} {
		trip := tc.b.NewTrip(tc.subject, nil, 3, nowMS)
		if got := trip.Holds(tc.f); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	trip := oom.NewTrip("", nil, 3, nowMS)
	held := trip.Hold(Decision{Action: ActionRetry, Counted: true, Delay: time.Minute, Rule: "p/oom", PolicyHash: "abc", Reason: "rule oom of p"})
	want := Decision{Action: ActionHold, Rule: "breaker:workflow-oom-hold", PolicyHash: "abc",
		Reason: "circuit breaker workflow-oom-hold: 3 attempts have failed by cause oom within 1h; held instead of: rule oom of p"}
	if diff := cmp.Diff(want, held); diff != "" {
		t.Errorf("nothing is counted, and nothing delayed: -want +got:\n%s", diff)
	}
}

func TestBreakersAreChecked(t *testing.T) {
	good := CircuitBreaker{Per: PerNode, Threshold: 3, Within: "PT1H", Action: BreakerExcludeNode}
	with := func(change func(b *CircuitBreaker)) []CircuitBreaker {
		b := good
		change(&b)
		return []CircuitBreaker{b}
	}
	categories := []FailureCategory{{Category: "gpu", When: CategoryMatch{Stderr: "Xid"}}}
	for _, tc := range []struct {
		name string
		list []CircuitBreaker
		want []string // path below circuit_breakers[0] and message
	}{
		{"good", []CircuitBreaker{good}, nil},
		{"name", with(func(b *CircuitBreaker) { b.Name = "-x" }), []string{`.name: invalid name "-x" of a circuit breaker`}},
		{"scope", with(func(b *CircuitBreaker) { b.Per, b.Action = "job", BreakerPause }), []string{`.per: invalid value "job" of per`}},
		{"action", with(func(b *CircuitBreaker) { b.Action = "fail" }), []string{`.action: invalid value "fail" of action`}},
		{"category", with(func(b *CircuitBreaker) { b.Category = "disk" }), []string{`.category: unknown category "disk"`}},
		{"known category", with(func(b *CircuitBreaker) { b.Category = "gpu" }), nil},
		{"cause", with(func(b *CircuitBreaker) { b.Cause = []CauseKind{CauseOOM, CauseOK} }), []string{`.cause[1]: invalid value "ok" of cause`}},
		{"no cause", with(func(b *CircuitBreaker) { b.Cause = []CauseKind{} }), []string{".cause: an empty list matches nothing"}},
		{"threshold", with(func(b *CircuitBreaker) { b.Threshold = 0 }), []string{".threshold: invalid number of failures: 0"}},
		{"large threshold", with(func(b *CircuitBreaker) { b.Threshold = 1_000_001 }), []string{".threshold: invalid number of failures: 1000001"}},
		{"no window", with(func(b *CircuitBreaker) { b.Within = "" }), []string{".within: the time is missing"}},
		{"empty window", with(func(b *CircuitBreaker) { b.Within = "0s" }), []string{`.within: "0s" is shorter than a second`}},
		{"wrong window", with(func(b *CircuitBreaker) { b.Within = "day" }), []string{`.within: duration "day": not a number with a unit`}},
		{"wrong time", with(func(b *CircuitBreaker) { b.For = "0s" }), []string{`.for: "0s" is shorter than a second`}},
		{"no node to exclude", with(func(b *CircuitBreaker) { b.Per = PerWorkflow }), []string{".action: exclude_node needs failures that are counted per node"}},
		{"all held", with(func(b *CircuitBreaker) { b.Action = BreakerHold }), []string{".action: hold would hold every failure of the workflow"}},
		{"a cause held", with(func(b *CircuitBreaker) { b.Action, b.Cause = BreakerHold, []CauseKind{CauseOOM} }), nil},
		{"each category held", with(func(b *CircuitBreaker) { b.Per, b.Action = PerCategory, BreakerHold }), nil},
	} {
		for i := range tc.want {
			tc.want[i] = "circuit_breakers[0]" + tc.want[i]
		}
		checkProblems(t, tc.name, (&RunPolicy{FailureCategories: categories, CircuitBreakers: tc.list}).Validate(), tc.want...)
	}
	checkProblems(t, "the same twice", (&RunPolicy{CircuitBreakers: []CircuitBreaker{good, good}}).Validate(),
		"circuit_breakers[1]: duplicate circuit breaker node-exclude_node")
	checkProblems(t, "no categories", (&RunPolicy{CircuitBreakers: with(func(b *CircuitBreaker) { b.Per, b.Action = PerCategory, BreakerPause })}).Validate(),
		"circuit_breakers[0].per: no failure would be counted: the workflow has no failure_categories")
	many := make([]CircuitBreaker, 51)
	for i := range many {
		many[i] = good
		many[i].Name = "b" + strings.Repeat("x", i)
	}
	checkProblems(t, "many", (&RunPolicy{CircuitBreakers: many}).Validate(), "circuit_breakers: too many circuit breakers: 51, the limit is 50")
}

func TestNodeBreaker(t *testing.T) {
	for _, tc := range []struct {
		name      string
		n         *NodeBreaker
		threshold int64
		window    time.Duration
		lasts     time.Duration
		on        bool
	}{
		{"not given", nil, 5, 30 * time.Minute, time.Hour, true},
		{"nothing said", &NodeBreaker{}, 5, 30 * time.Minute, time.Hour, true},
		{"said", &NodeBreaker{Enabled: ptr(true), Threshold: 2, Within: "5m", For: "P1D"}, 2, 5 * time.Minute, 24 * time.Hour, true},
		{"off", &NodeBreaker{Enabled: ptr(false)}, 5, 30 * time.Minute, time.Hour, false},
	} {
		b, on := tc.n.Breaker()
		if on != tc.on || b.Threshold != tc.threshold || b.Window() != tc.window || b.Duration() != tc.lasts {
			t.Errorf("%s: on %v, %+v", tc.name, on, b)
		}
		checkProblems(t, tc.name, (&RunPolicy{CircuitBreakers: []CircuitBreaker{b}}).Validate())
		for _, kind := range CauseKinds() {
			f := Failure{Cause: Cause{Kind: kind, Status: Failed}, Node: "n1"}
			_, counted := b.Subject(&f)
			if ofNode := kind == CauseNodeFail || kind == CauseLost || kind == CauseLaunch; counted != ofNode {
				t.Errorf("%s: %s counts against a node: %v", tc.name, kind, counted)
			}
		}
	}
	checkProblems(t, "wrong", (&RetrySettings{NodeBreaker: &NodeBreaker{Threshold: -1, Within: "0s", For: "x"}}).Validate(),
		"node_breaker.threshold: invalid number of failures: -1", `node_breaker.within: "0s" is shorter than a second`,
		`node_breaker.for: duration "x": not a number with a unit`)
}
