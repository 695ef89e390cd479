package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

const nowMS = int64(1_700_000_000_000)

const gib = int64(1) << 30

func ptr[T any](v T) *T { return &v }

func counts(byStatus map[JobStatus]int64) stage.Counts {
	var c stage.Counts
	for s, n := range byStatus {
		c.ByStatus[s] = n
	}
	return c
}

func runner(id int64, host string, total, free placement.FreeNode) placement.RunnerFacts {
	return placement.RunnerFacts{ID: id, Host: host,
		Total: placement.Offer{Nodes: []placement.FreeNode{total}, Slots: 10},
		Free:  placement.Offer{Nodes: []placement.FreeNode{free}, Slots: 10}}
}

func endedAttempt(id, seconds int64, c Cause, d Decision) Attempt {
	start := nowMS - 100_000
	return Attempt{AttemptID: id, Node: "n1", StartedMS: ptr(start), EndedMS: ptr(start + 1000*seconds), Status: c.Status, Cause: c, Decision: d}
}

func jobFacts(status JobStatus) explain.JobFacts {
	return explain.JobFacts{
		NowMS: nowMS,
		Job:   Job{ID: 17, Name: "train", Status: status, AttemptID: 1},
		Class: placement.Class{CPUs: 2, MemoryBytes: 8 * gib, Nodes: 1, RuntimeSeconds: 3600},
	}
}

var (
	smallNode = placement.FreeNode{CPUs: 2, MemoryBytes: 4 * gib}
	bigNode   = placement.FreeNode{CPUs: 16, MemoryBytes: 64 * gib}
	fullNode  = placement.FreeNode{CPUs: 16, MemoryBytes: 7 * gib, Busy: true}
)

func TestExplain(t *testing.T) {
	retry := Decision{Action: ActionRetry, Reason: "rule 1 of handler simulation: exit code 10, attempt 1 of 3"}
	failed := Cause{Kind: CauseExit, Confidence: Certain, Status: Failed, ReturnCode: 10, Text: "exit code 10"}
	guess := Cause{Kind: CauseOOM, Confidence: Guess, Status: Failed, ReturnCode: 137, Text: "OOM: guessed, SIGKILL"}
	tests := []struct {
		name   string
		status JobStatus
		change func(f *explain.JobFacts)
	}{
		{"uninitialized", Uninitialized, nil},
		{"blocked", Blocked, func(f *explain.JobFacts) {
			f.Dependencies, f.OpenCount = 9, 7
			for i := range 6 {
				f.Open = append(f.Open, explain.DependencyFact{fmt.Sprint("prep_", i), Running})
			}
			f.Runners = []placement.RunnerFacts{runner(3, "n1", smallNode, smallNode)}
		}},
		{"blocked, a dependency failed", Blocked, func(f *explain.JobFacts) {
			f.Dependencies, f.OpenCount, f.UnsuccessfulCount = 2, 1, 1
			f.Open = []explain.DependencyFact{{"slow", Ready}}
			f.Unsuccessful = []explain.DependencyFact{{"prep", Failed}}
		}},
		{"blocked, a dependency failed, runs anyway", Blocked, func(f *explain.JobFacts) {
			f.Dependencies, f.OpenCount, f.UnsuccessfulCount = 2, 1, 1
			f.Unsuccessful = []explain.DependencyFact{{"prep", Failed}}
			f.Job.RunIf = RunIfAlways
		}},
		{"ready without a runner", Ready, func(f *explain.JobFacts) { f.Dependencies = 3 }},
		{"ready, fits nowhere", Ready, func(f *explain.JobFacts) {
			f.Runners = []placement.RunnerFacts{runner(3, "n1", smallNode, smallNode), runner(4, "n2", smallNode, placement.FreeNode{}),
				{ID: 5, Host: "n3", Total: placement.Offer{Nodes: []placement.FreeNode{bigNode}, Slots: 1, Labels: []string{"gpu"}}}}
		}},
		{"ready, fits later", Ready, func(f *explain.JobFacts) {
			f.Runners = []placement.RunnerFacts{runner(3, "n1", smallNode, smallNode), runner(6, "n4", bigNode, fullNode)}
			f.ReadyAhead = 4
		}},
		{"ready, excluded from a node", Ready, func(f *explain.JobFacts) {
			f.Runners = []placement.RunnerFacts{runner(3, "n1", bigNode, bigNode), runner(6, "n4", bigNode, fullNode)}
			f.Breakers = []BreakerTrip{
				{ID: 5, Action: BreakerExcludeNode, Subject: "n1", Reason: "circuit breaker nodes: 5 attempts have failed on n1 within 30m", UntilMS: nowMS + 900_000},
				{ID: 6, Action: BreakerHold, Reason: "it is about failures", UntilMS: nowMS + 900_000}}
		}},
		{"ready, excluded from all nodes", Ready, func(f *explain.JobFacts) {
			f.Runners = []placement.RunnerFacts{runner(3, "n1", bigNode, bigNode), runner(6, "n4", bigNode, fullNode), runner(7, "n5", smallNode, smallNode)}
			f.Job.NotBeforeMS = ptr(nowMS + 90_000)
			f.Breakers = []BreakerTrip{{ID: 5, Action: BreakerExcludeNode, Subject: "n1", Reason: "circuit breaker nodes: 5 attempts have failed on n1 within 30m", UntilMS: nowMS + 900_000}}
			f.Retries.Avoided = []AvoidedNode{{Node: "n4", UntilMS: nowMS + 600_000}, {Node: "n1", UntilMS: nowMS + 60_000}}
		}},
		{"ready, excluded from a node for good", Ready, func(f *explain.JobFacts) {
			f.Runners = []placement.RunnerFacts{runner(3, "n1", bigNode, bigNode), runner(7, "n5", smallNode, smallNode)}
			f.Retries.Avoided = []AvoidedNode{{Node: "n1"}}
			f.Places = explain.PlaceFacts{Ready: []string{"1 ready job: asked for"}}
		}},
		{"ready, nowhere else to go", Ready, func(f *explain.JobFacts) {
			f.Runners = []placement.RunnerFacts{runner(3, "n1", bigNode, bigNode)}
			f.Breakers = []BreakerTrip{{ID: 5, Action: BreakerExcludeNode, Subject: "n1", Reason: "circuit breaker nodes", UntilMS: nowMS + 900_000}}
			f.Retries.Avoided = []AvoidedNode{{Node: "n1"}}
		}},
		{"ready, Slurm chose the node", Ready, func(f *explain.JobFacts) {
			asked := runner(3, "n1", bigNode, bigNode)
			asked.AskedMS = ptr(nowMS - 1000)
			f.Runners = []placement.RunnerFacts{asked}
			f.Breakers = []BreakerTrip{{ID: 5, Action: BreakerExcludeNode, Subject: "n1", Reason: "circuit breaker nodes", SinceMS: nowMS - 2000, UntilMS: nowMS + 900_000}}
		}},
		{"ready, fits now", Ready, func(f *explain.JobFacts) {
			f.Runners = []placement.RunnerFacts{runner(6, "n4", bigNode, bigNode)}
			f.Class.Labels = nil
			f.ReadyAhead = 1
		}},
		{"ready, of another scheduler", Ready, func(f *explain.JobFacts) {
			f.Class.SchedulerID, f.Class.GPUs, f.Class.Nodes, f.Class.Labels = ptr(int64(2)), 1, 2, []string{"gpu"}
			f.Runners = []placement.RunnerFacts{{ID: 1, Host: "n1", Total: placement.Offer{Slots: 1, StrictScheduler: true, Labels: []string{"gpu"}}}}
		}},
		{"ready, not yet", Ready, func(f *explain.JobFacts) {
			f.Job.NotBeforeMS = ptr(nowMS + 90_000)
			f.Runners = []placement.RunnerFacts{runner(6, "n4", bigNode, bigNode)}
			f.Attempts = []Attempt{endedAttempt(1, 12, failed, retry)}
		}},
		{"ready in a canceled workflow", Ready, func(f *explain.JobFacts) { f.WorkflowCanceled = true }},
		{"pending", Pending, func(f *explain.JobFacts) {
			f.RunnerHost = "n1"
			f.Attempts = []Attempt{{AttemptID: 1, Node: "n1"}}
		}},
		{"recovering", Pending, func(f *explain.JobFacts) {
			f.RunnerHost, f.Job.Phase = "n1", PhaseRecovery
			f.Attempts = []Attempt{endedAttempt(1, 12, failed, Decision{Action: ActionRecover, Reason: retry.Reason})}
		}},
		{"running", Running, func(f *explain.JobFacts) {
			f.RunnerHost, f.Job.AttemptID = "n1", 2
			f.Attempts = []Attempt{endedAttempt(1, 12, failed, retry), {AttemptID: 2, Node: "n1", StartedMS: ptr(nowMS - 65_400)}}
		}},
		{"completed", Completed, func(f *explain.JobFacts) {
			f.Dependencies = 3
			f.Attempts = []Attempt{endedAttempt(1, 12, Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "exit code 0"}, Decision{Action: ActionNone})}
		}},
		{"failed", Failed, func(f *explain.JobFacts) {
			for i := range int64(14) {
				f.Attempts = append(f.Attempts, endedAttempt(i+1, i, guess, retry))
			}
		}},
		{"failed in two runs", Failed, func(f *explain.JobFacts) {
			first, second := endedAttempt(1, 3, failed, Decision{Action: ActionFail, Reason: "no rule for cause exit"}), endedAttempt(1, 4, guess, Decision{Action: ActionFail, Reason: "no rule for cause oom"})
			first.RunID, first.Evidence = 1, Evidence{PeakMemoryBytes: 3 << 30, TerminationMessage: "no licence\n", StderrTail: "reading\nabort: \x1b[31mno licence\n\n"}
			second.RunID, second.Evidence = 2, Evidence{PeakMemoryBytes: 8 << 30, StderrTail: strings.Repeat("x", 300)}
			f.Attempts = []Attempt{first, second}
		}},
		{"terminated without attempts", Terminated, nil},
		{"skipped", Canceled, func(f *explain.JobFacts) { f.Job.SkippedBy, f.SkippedByName = ptr(int64(4)), "prep" }},
		{"skipped by a job that is gone", Canceled, func(f *explain.JobFacts) { f.Job.SkippedBy = ptr(int64(4)) }},
		{"canceled with the workflow", Canceled, func(f *explain.JobFacts) { f.WorkflowCanceled = true }},
		{"canceled", Canceled, nil},
		{"aborted before it began", Canceled, func(f *explain.JobFacts) { f.GivenUp = "its deadline passed" }},
		{"aborted while it ran", Canceled, func(f *explain.JobFacts) {
			f.GivenUp = "its deadline passed"
			f.Attempts = []Attempt{endedAttempt(1, 12, failure.ClassifyCanceled("the run was aborted: its deadline passed", Evidence{Signal: 15}), Decision{Action: ActionNone})}
		}},
		{"disabled", Disabled, nil},
		{"held", PendingFailed, func(f *explain.JobFacts) {
			f.Job.Hold = &Hold{Reason: "no rule for cause exit; it waits for a classification", DeadlineMS: ptr(nowMS + 7200_000)}
		}},
		{"held, by a rule with a deadline", PendingFailed, func(f *explain.JobFacts) {
			f.Job.Hold = &Hold{Reason: "rule mine/gpu: exit", DeadlineMS: ptr(nowMS + 60_000), DeadlineOf: "rule mine/gpu", OnTimeout: ActionRetry}
		}},
		{"held, and no daemon was running at the deadline", PendingFailed, func(f *explain.JobFacts) {
			f.Job.Hold = &Hold{Reason: "rule mine/gpu: exit", DeadlineMS: ptr(nowMS - 180_000), DeadlineOf: "the workflow", OnTimeout: ActionFail}
		}},
		{"held without a deadline", PendingFailed, nil},
		{"blocked, runs after a failure", Blocked, func(f *explain.JobFacts) {
			f.Dependencies, f.OpenCount, f.Job.RunIf = 1, 1, RunIfFailure
			f.Open = []explain.DependencyFact{{"prep", Running}}
		}},
		{"ready, claims are held", Ready, func(f *explain.JobFacts) {
			f.Runners = []placement.RunnerFacts{runner(6, "n4", bigNode, bigNode)}
			f.ClaimHolds = hold.ClaimHolds{{Kind: hold.HoldBreaker, Reason: "circuit breaker gpu", SinceMS: nowMS - 60_000, UntilMS: nowMS + 900_000}}
		}},
		{"classified, and failed again", Failed, func(f *explain.JobFacts) {
			a := endedAttempt(2, 12, failed, Decision{Action: ActionFail, Reason: "no rule for cause exit"})
			a.Evidence = Evidence{Category: "gpu", Subcategory: "xid", CategoryLine: "NVRM: Xid 79", CategoryHint: "tell the site", StderrTail: "NVRM: Xid 79\nabort\n"}
			f.Attempts = []Attempt{a}
			f.Classifications = []hold.PastClassification{
				{Classification: hold.Classification{Status: Ready, Author: "ann", Reason: "the node was bad", Confidence: Likely, Memory: "16g", Runtime: "PT2H"}, RunID: 1, Attempt: 1, AtMS: nowMS - 3600_000},
				{Classification: hold.Classification{Status: Failed, Reason: "enough"}, RunID: 1, Attempt: 2, AtMS: nowMS - 60_000},
			}
		}},
	}
	var b strings.Builder
	for _, tt := range tests {
		f := jobFacts(tt.status)
		if tt.change != nil {
			tt.change(&f)
		}
		fmt.Fprintf(&b, "=== %s\n%s\n", tt.name, explain.Job(f))
	}
	golden.Compare(t, "testdata/job.golden", b.String())
}

func TestExplainWorkflow(t *testing.T) {
	small := placement.Class{CPUs: 1, MemoryBytes: gib, Nodes: 1, RuntimeSeconds: 60}
	big := placement.Class{CPUs: 2, MemoryBytes: 8 * gib, Nodes: 1, RuntimeSeconds: 60}
	tests := []struct {
		name string
		f    explain.WorkflowFacts
	}{
		{"empty", explain.WorkflowFacts{}},
		{"archived", explain.WorkflowFacts{IsArchived: true, Counts: counts(map[JobStatus]int64{Completed: 1})}},
		{"not started", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Uninitialized: 3, Disabled: 1})}},
		{"running", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Completed: 3, Running: 2, Ready: 3, Blocked: 8}),
			Ready:   []explain.ClassFact{{small, 2, "sim_4"}, {big, 1, "merge"}},
			Runners: []placement.RunnerFacts{runner(1, "n1", smallNode, placement.FreeNode{CPUs: 0, MemoryBytes: gib}), runner(2, "n2", smallNode, placement.FreeNode{})}}},
		{"nothing fits", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Ready: 5}),
			Ready: []explain.ClassFact{{big, 5, "sim_1"}}, Runners: []placement.RunnerFacts{runner(1, "n1", smallNode, smallNode)}}},
		{"many kinds of jobs", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Ready: 10}), Ready: append(slices.Repeat([]explain.ClassFact{{small, 1, "sim"}}, 9), explain.ClassFact{big, 1, "merge"}),
			Runners: []placement.RunnerFacts{runner(1, "n1", smallNode, smallNode)}}},
		{"no runner", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Ready: 5, Completed: 1}), Ready: []explain.ClassFact{{big, 5, "sim_1"}}}},
		{"next turn", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Ready: 3}), Waiting: 2, WaitingMS: 30_000,
			Ready: []explain.ClassFact{{small, 1, "sim_1"}}, Runners: []placement.RunnerFacts{runner(1, "n1", smallNode, smallNode)}}},
		{"held", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Completed: 3, PendingFailed: 7, Blocked: 1}), Held: []string{"a", "b", "c", "d", "e", "f"}}},
		{"claims are held", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Completed: 3, Running: 1, Ready: 7}),
			ClaimHolds: hold.ClaimHolds{{Kind: hold.HoldMaxFailures, Reason: "3 jobs have failed", SinceMS: nowMS - 300_000}, {Kind: hold.HoldBreaker, Reason: "the breaker gpu has tripped", SinceMS: nowMS - 90_000, UntilMS: nowMS + 900_000}}}},
		{"claims are held for a time", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Ready: 7}),
			ClaimHolds: hold.ClaimHolds{{Kind: hold.HoldBreaker, Reason: "the breaker gpu has tripped", SinceMS: nowMS, UntilMS: nowMS + 900_000}}}},
		{"stages", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Completed: 4, Running: 1, Ready: 2, Blocked: 2}), RunningStages: 1,
			Staged: counts(map[JobStatus]int64{Completed: 3, Ready: 2, Blocked: 1}).ByStatus,
			Stages: stage.StageSummaries{Shown: []stage.StageSummary{{Name: "train", Kind: StageChild, State: stage.Running, Text: "3 of 5 jobs done"}}, More: 2},
			Alerts: explain.RecentAlerts{Count: 4, Latest: []RaisedAlert{{AtMS: nowMS - 90_000, Alert: Alert{Kind: AlertDeadline, Subject: "the deadline has passed"}}}}}},
		{"stuck", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Blocked: 2})}},
		{"canceled, live", explain.WorkflowFacts{Counts: canceledCounts(map[JobStatus]int64{Running: 2, Ready: 1})}},
		{"canceled", explain.WorkflowFacts{Counts: canceledCounts(map[JobStatus]int64{Canceled: 2, Ready: 1})}},
		{"completed", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Completed: 2})}},
		{"failed", explain.WorkflowFacts{FailedCount: 4, Failures: []explain.FailureFact{{"sim_3", 3, Cause{Kind: CauseExit, Text: "exit code 10"}}, {"sim_4", 1, Cause{Kind: CauseLost}}},
			Counts: stage.Counts{ByStatus: counts(map[JobStatus]int64{Completed: 2, Failed: 4, Canceled: 1}).ByStatus, Retried: 2,
				ByCause: map[CauseKind]int64{CauseLost: 1, CauseExit: 5}, ByCategory: map[string]int64{"gpu": 4, "disk": 1}}}},
		{"failed jobs, but success_if holds", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Completed: 9, Failed: 1}),
			Verdict: &stage.EndPayload{EventType: string(EventWorkflowCompleted), SuccessIf: "failed <= 1", SuccessIfHolds: ptr(true)}}},
		{"no failed job, but success_if does not hold", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Completed: 9}),
			Verdict: &stage.EndPayload{EventType: string(EventWorkflowFailed), SuccessIf: "completed > 9", SuccessIfHolds: ptr(false)}}},
		{"aborted", explain.WorkflowFacts{Counts: abortedCounts(map[JobStatus]int64{Completed: 9, Canceled: 1}), Breakers: []BreakerTrip{{ID: 3, Reason: "shown only during the run"}},
			Verdict: &stage.EndPayload{EventType: string(EventWorkflowFailed), Reason: "its deadline passed"}, Compensation: &stage.Compensation{State: stage.CompensationCompleted, Text: "completed, 2 jobs"}}},
		{"aborted, with an end job", explain.WorkflowFacts{Counts: abortedCounts(map[JobStatus]int64{Completed: 9, Canceled: 1, Ready: 1}),
			Staged: counts(map[JobStatus]int64{Ready: 1}).ByStatus}},
		{"an open breaker", explain.WorkflowFacts{Counts: counts(map[JobStatus]int64{Completed: 9, Running: 1}),
			Breakers: []BreakerTrip{{ID: 3, Reason: "circuit breaker lost: 3 attempts have failed on n1 within 1h", Action: BreakerExcludeNode, UntilMS: nowMS + 600_000}}}},
	}
	var b strings.Builder
	for _, tt := range tests {
		tt.f.NowMS, tt.f.ID, tt.f.Name, tt.f.RunID = nowMS, 5, "sweep", 1
		fmt.Fprintf(&b, "=== %s\n%s\n", tt.name, explain.Workflow(tt.f))
	}
	golden.Compare(t, "testdata/workflow.golden", b.String())
}

func abortedCounts(byStatus map[JobStatus]int64) stage.Counts {
	c := counts(byStatus)
	c.GivenUp = "its deadline passed"
	return c
}

func canceledCounts(byStatus map[JobStatus]int64) stage.Counts {
	c := counts(byStatus)
	c.WorkflowCanceled = true
	return c
}
