package retry_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// recordedNowMS is the time at which the recorded decisions were made, and
// recordedRun the run.
const (
	recordedNowMS = 1_795_255_200_000
	recordedRun   = 1
)

// recordedDecision is a case of testdata/decisions.json, as far as it is about the
// decision; what the database makes of it is tested in store.
type recordedDecision struct {
	Name  string `json:"name"`
	Facts struct {
		Of              string                        `json:"of"`
		Policies        string                        `json:"policies"`
		Attempt         int64                         `json:"attempt"`
		CountedFails    int64                         `json:"counted_failures"`
		Rules           map[string]workflow.RuleCount `json:"rules"`
		WorkflowRetries int64                         `json:"workflow_retries"`
		Avoided         []workflow.AvoidedNode        `json:"avoided"`
		Evidence        workflow.Evidence             `json:"evidence"`
		ElapsedSeconds  int64                         `json:"elapsed_seconds"`
		Status          workflow.JobStatus            `json:"status"`
		ReturnCode      int64                         `json:"return_code"`
		Doom            string                        `json:"doom"`
		Timeout         workflow.Timeout              `json:"timeout"`
		Limit           workflow.TimeLimit            `json:"limit"`
		Breakers        []workflow.BreakerTrip        `json:"breakers"`
		Memory          string                        `json:"memory"`
		Runtime         string                        `json:"runtime"`
		Runners         []struct {
			Memory string `json:"memory"`
			ByHand bool   `json:"by_hand"`
			Gone   bool   `json:"gone"`
		} `json:"runners"`
		SiteMemory string `json:"site_memory"`
		Order      *struct {
			OnError   workflow.Action     `json:"on_error"`
			Status    workflow.JobStatus  `json:"status"`
			RunID     int64               `json:"run_id"`
			HoldLimit *workflow.HoldLimit `json:"hold_limit"`
			Rule      string              `json:"rule"`
		} `json:"order"`
		Error          string `json:"error"`
		Author         string `json:"author"`
		AsksForMemory  string `json:"asks_for_memory"`
		AsksForRuntime string `json:"asks_for_runtime"`
		Force          bool   `json:"force"`
	} `json:"facts"`
	Outcome recordedOutcome `json:"outcome"`
}

// recordedOutcome is what the file and a decision have in common. Attempt and what
// follows it are of a retry.
type recordedOutcome struct {
	Refused      string                        `json:"refused"`
	Status       string                        `json:"status"`
	Action       workflow.Action               `json:"action"`
	Reason       string                        `json:"reason"`
	Rule         string                        `json:"rule"`
	Counted      bool                          `json:"counted"`
	PolicyHash   string                        `json:"policy_hash"`
	Attempt      int64                         `json:"attempt"`
	Rules        map[string]workflow.RuleCount `json:"rules"`
	CountedFails int64                         `json:"counted_failures"`
	WaitMS       int64                         `json:"wait_ms"`
	Avoid        []workflow.AvoidedNode        `json:"avoid"`
	Memory       string                        `json:"memory"`
	Runtime      string                        `json:"runtime"`
}

// TestRecordedDecisions makes sure that Decide comes to what was recorded, without a
// database.
func TestRecordedDecisions(t *testing.T) {
	text, err := os.ReadFile("testdata/decisions.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Policies map[string]retry.Policies `json:"policies"`
		Cases    []recordedDecision        `json:"cases"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if n := len(file.Cases); n < 150 {
		t.Errorf("%d cases", n)
	}
	runner, decided := int64(1), 0
	for i := range file.Cases {
		c := &file.Cases[i]
		f, decides := c.facts(t, int64(i+1), runner, file.Policies[c.Facts.Policies])
		runner += max(1, int64(len(c.Facts.Runners)))
		if !decides {
			continue
		}
		decided++
		want, got := c.compared(retry.Decide(f))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("case %d, %s (-file +Decide):\n%s", i+1, c.Name, diff)
		}
	}
	if decided < 300 {
		t.Errorf("only %d of %d cases were decided", decided, len(file.Cases))
	}
}

// facts are what the case rests on; runner is the id of its first runner. It is false
// where the outcome is not that of Decide: its runner is only told to end the job, or
// the hold of the job ends.
func (c *recordedDecision) facts(t *testing.T, job, runner int64, p retry.Policies) (retry.Facts, bool) {
	t.Helper()
	x := &c.Facts
	f := retry.Facts{JobID: job, RunID: recordedRun, NowMS: recordedNowMS, History: workflow.History{AttemptID: x.Attempt}, Avoided: x.Avoided}
	f.Failure = workflow.Failure{Evidence: x.Evidence, Node: "n1", Elapsed: time.Duration(x.ElapsedSeconds) * time.Second}
	f.Failure.Cause = failure.Classify(x.Evidence, workflow.ReturnCodes{}, nil)
	f.Doom.Reason = x.Doom
	ofRules := true
	switch x.Of {
	case "waiting":
		if x.Status == workflow.Running || x.Status == workflow.PendingFailed {
			return f, false
		}
		ofRules = false
		f.Failure = workflow.Failure{Cause: x.Limit.ExpiredCause(x.Timeout, workflow.ReturnCodes{})}
		f.Expired = &retry.ExpiredJob{Timeout: x.Timeout, Limit: x.Limit}
	case "client":
		ofRules = false
		f.History.ReportedByOld = true
		f.Failure.Cause = failure.ClassifyReport(x.Status, x.ReturnCode, workflow.ReturnCodes{})
	case "classification":
		p = retry.Policies{GlobalMaxRetries: p.GlobalMaxRetries}
		f.Failure = workflow.Failure{}
		f.Retried = &retry.RetryVerdict{Force: x.Force, NotBegun: x.ReturnCode == 0, Classification: hold.Classification{
			Status: workflow.Ready, Author: x.Author, Reason: "said so", Memory: x.AsksForMemory, Runtime: x.AsksForRuntime,
		}}
	case "recovery":
		f.Script = &retry.ScriptEnd{
			Failed: x.ReturnCode != 0 || x.Error != "", ReturnCode: x.ReturnCode, Error: x.Error, EarlierRun: x.Order.RunID != recordedRun,
			OnError: x.Order.OnError, HoldLimit: x.Order.HoldLimit, Rule: x.Order.Rule, Status: x.Order.Status,
		}
		if ofRules = f.Script.Failed && !f.Script.EarlierRun; !ofRules {
			f.Failure = workflow.Failure{}
		} else if x.Error != "" {
			f.Failure.Evidence = workflow.Evidence{LostRunner: true, Note: x.Error}
			f.Failure.Cause = failure.Classify(f.Failure.Evidence, workflow.ReturnCodes{}, nil)
		}
	case "silence":
		f.Failure.Evidence = workflow.Evidence{LostRunner: true, Silent: true, Note: x.Limit.Reason(workflow.TimeoutHeartbeat)}
		f.Failure.Cause = failure.Classify(f.Failure.Evidence, workflow.ReturnCodes{}, nil)
		if x.Limit.Policy == workflow.OnTimeoutAlert {
			return f, false
		} else if x.Limit.Policy.Fails() {
			f.Doom.Reason = "timeouts.heartbeat has the policy " + string(x.Limit.Policy)
		}
	default:
		ofRules = f.Failure.Cause.Status.IsUnsuccessful()
		if x.Timeout != "" {
			f.Doom = retry.DoomOf(x.Timeout, &x.Limit)
		}
	}
	if ofRules {
		f.Policies = p
		f.History.Rules, f.History.CountedFails, f.History.WorkflowRetries = x.Rules, x.CountedFails, x.WorkflowRetries
	}
	for _, b := range x.Breakers {
		b.RunID, b.UntilMS = recordedRun, recordedNowMS+1000
		f.Breakers = append(f.Breakers, b)
	}
	if f.Needs().Demand {
		f.Demand = c.demand(t, runner)
	}
	return f, true
}

// demand is what the job asks for, and where it could have more.
func (c *recordedDecision) demand(t *testing.T, runner int64) *placement.JobDemand {
	t.Helper()
	x := &c.Facts
	bytes := func(text string) int64 {
		n, err := workflow.ParseMemory(text)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		return n
	}
	d := &placement.JobDemand{Requirements: workflow.ResourceRequirements{Name: "r", NumCPUs: 1, NumNodes: 1, Memory: x.Memory, Runtime: x.Runtime}}
	if x.Memory == "" {
		d.Requirements.Name = workflow.DefaultRequirements
		return d
	}
	seconds, err := workflow.ParseRuntime(x.Runtime)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	d.Class = placement.Class{CPUs: 1, Nodes: 1, MemoryBytes: bytes(x.Memory), RuntimeSeconds: seconds}
	for i, r := range x.Runners {
		d.ByHand = d.ByHand || i == 0 && r.ByHand
		switch {
		case !r.Gone:
			d.Runners = append(d.Runners, runnerWith(runner, i, bytes(r.Memory)))
		case x.Of == "classification":
			d.Past = append(d.Past, runnerWith(runner, i, bytes(r.Memory)))
		}
	}
	if x.Runners == nil {
		d.Runners = []placement.RunnerFacts{runnerWith(runner, 0, bytes("64g"))}
	}
	most := int64(0)
	if x.SiteMemory != "" {
		most = bytes(x.SiteMemory)
	}
	d.Places = largestAllocation(most)
	return d
}

// runnerWith is the i-th runner of a case, on a node with so much memory.
func runnerWith(first int64, i int, memory int64) placement.RunnerFacts {
	has := placement.Offer{Nodes: []placement.FreeNode{{CPUs: 4, MemoryBytes: memory}}, Slots: math.MaxInt32}
	return placement.RunnerFacts{ID: first + int64(i), Host: fmt.Sprintf("n%d", i+1), Total: has, Free: has}
}

// largestAllocation is how much memory an allocation can have; 0: nobody knows.
type largestAllocation int64

func (most largestAllocation) Unplaced(c placement.Class) string {
	if most != 0 && c.MemoryBytes > int64(most) {
		return "needs " + workflow.FormatBytes(c.MemoryBytes) + ", an allocation has at most " + workflow.FormatBytes(int64(most))
	}
	return ""
}

func (largestAllocation) Elsewhere(placement.Class, string) bool { return false }

// compared returns what the file says of a decision, and what came out, as far as both
// say it.
func (c *recordedDecision) compared(o retry.Outcome) (want, got recordedOutcome) {
	want = c.Outcome
	if o.Refused != nil {
		return want, recordedOutcome{Refused: o.Refused.Error()}
	}
	got = recordedOutcome{Status: o.Status.String(), Action: o.Action, Reason: o.Reason, Rule: o.Rule, Counted: o.Counted, PolicyHash: o.PolicyHash}
	if c.Facts.Of == "classification" || c.Facts.Of == "recovery" && want.Action == "" { // no attempt ended: the file has the one before, or none
		want.Action, want.Reason, want.Rule, want.Counted, want.PolicyHash = got.Action, got.Reason, got.Rule, got.Counted, got.PolicyHash
	}
	if c.Facts.Of == "recovery" {
		want.Counted = got.Counted // it is not recorded
	}
	if c.Facts.Evidence.NeverStarted { // its job is given back, and the file has the decision alone
		want.Status, want.Attempt = got.Status, c.Facts.Attempt+1
	}
	if o.Action == workflow.ActionRecover { // the attempt is counted when the script has ended
		want.Attempt++
	}
	if n := o.Next; n != nil {
		got.Attempt, got.Rules, got.CountedFails, got.WaitMS, got.Avoid = n.Number, n.Used.Rules, n.Used.CountedFails, int64(math.Ceil(float64(n.Wait())/float64(time.Millisecond))), n.Avoided
	} else {
		want.Attempt, want.Rules, want.CountedFails, want.WaitMS, want.Avoid = 0, nil, 0, 0, nil
	}
	if got.Memory, got.Runtime = want.Memory, want.Runtime; c.Facts.Memory != "" {
		got.Memory, got.Runtime = c.Facts.Memory, c.Facts.Runtime
	}
	if o.Grown != nil {
		got.Memory, got.Runtime = o.Grown.Memory, o.Grown.Runtime
	}
	return want, got
}
