package workflowtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// job makes a job that is canceled if what it depends on was not successful.
func job(dependsOn ...int) Job { return Job{DependsOn: dependsOn} }

// after makes a job with another condition.
func after(c workflow.RunIf, dependsOn ...int) Job { return Job{DependsOn: dependsOn, RunIf: c} }

// started returns an initialised engine.
func started(jobs ...Job) *Engine {
	e := &Engine{Jobs: jobs}
	e.Initialize(false)
	return e
}

// finish claims a job and lets it end.
func finish(t *testing.T, e *Engine, i int, s workflow.JobStatus) {
	t.Helper()
	if err := e.Claim(i); err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(workflow.OpFinish, i, s); err != nil {
		t.Fatal(err)
	}
}

func wantStatuses(t *testing.T, e *Engine, want ...workflow.JobStatus) {
	t.Helper()
	if diff := cmp.Diff(want, e.Statuses()); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

func TestFailureCascadesThroughADiamond(t *testing.T) {
	regardless := after(workflow.RunIfAlways, 3)
	e := started(job(), job(0), job(0), job(1, 2), regardless)
	wantStatuses(t, e, workflow.Ready, workflow.Blocked, workflow.Blocked, workflow.Blocked, workflow.Blocked)
	finish(t, e, 0, workflow.Completed)
	finish(t, e, 1, workflow.Failed)
	wantStatuses(t, e, workflow.Completed, workflow.Failed, workflow.Ready, workflow.Blocked, workflow.Blocked)
	finish(t, e, 2, workflow.Completed)
	wantStatuses(t, e, workflow.Completed, workflow.Failed, workflow.Completed, workflow.Canceled, workflow.Ready)
	if !e.Jobs[3].Skipped || e.Jobs[1].Skipped {
		t.Errorf("skipped: %+v", e.Jobs)
	}
}

// What runs only after failures is not needed without one; what is behind it
// goes on as behind a success.
func TestRunIf(t *testing.T) {
	const success, always, failure = workflow.RunIfSuccess, workflow.RunIfAlways, workflow.RunIfFailure
	graph := func() []Job {
		return []Job{job(), after(failure, 0), after(failure, 1), after(success, 1), after(always, 0), after(failure), job(0)}
	}
	e := started(graph()...)
	finish(t, e, 0, workflow.Completed)
	wantStatuses(t, e, workflow.Completed, workflow.Disabled, workflow.Disabled, workflow.Ready, workflow.Ready, workflow.Ready, workflow.Ready)
	if err := e.Apply(workflow.OpManage, 0, workflow.Ready); err != nil {
		t.Fatal(err)
	}
	wantStatuses(t, e, workflow.Ready, workflow.Blocked, workflow.Blocked, workflow.Blocked, workflow.Blocked, workflow.Ready, workflow.Blocked)
	finish(t, e, 0, workflow.Failed)
	wantStatuses(t, e, workflow.Failed, workflow.Ready, workflow.Blocked, workflow.Blocked, workflow.Ready, workflow.Ready, workflow.Canceled)
	finish(t, e, 1, workflow.Completed)
	wantStatuses(t, e, workflow.Failed, workflow.Completed, workflow.Disabled, workflow.Ready, workflow.Ready, workflow.Ready, workflow.Canceled)
	e.ResetJobs(false)
	e.Initialize(true)
	wantStatuses(t, e, workflow.Ready, workflow.Blocked, workflow.Blocked, workflow.Blocked, workflow.Blocked, workflow.Ready, workflow.Blocked)
}

func TestFailureCascadesThroughALongChain(t *testing.T) {
	jobs := []Job{job()}
	for i := range 150 {
		jobs = append(jobs, job(i))
	}
	e := started(jobs...)
	finish(t, e, 0, workflow.Terminated)
	if c := e.Counts(); c.ByStatus[workflow.Canceled] != 150 || !c.Ended() {
		t.Errorf("%v", c.ByStatus)
	}
}

func TestDisabledDependencyIsSatisfied(t *testing.T) {
	e := &Engine{Jobs: []Job{job(), job(0)}}
	if err := e.Apply(workflow.OpDisable, 0, workflow.Disabled); err != nil {
		t.Fatal(err)
	}
	e.Initialize(true)
	wantStatuses(t, e, workflow.Disabled, workflow.Ready)
	e.ResetJobs(false)
	wantStatuses(t, e, workflow.Disabled, workflow.Uninitialized)
}

func TestHoldKeepsWhatIsBehindBlocked(t *testing.T) {
	e := started(job(), job(0))
	if err := e.Claim(0); err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(workflow.OpHold, 0, workflow.PendingFailed); err != nil {
		t.Fatal(err)
	}
	wantStatuses(t, e, workflow.PendingFailed, workflow.Blocked)
	if e.Counts().Ended() {
		t.Error("ended though a job is held")
	}
	if err := e.Apply(workflow.OpClassify, 0, workflow.Failed); err != nil {
		t.Fatal(err)
	}
	wantStatuses(t, e, workflow.Failed, workflow.Canceled)
}

func TestCancelLeavesWhatHasNotStarted(t *testing.T) {
	e := started(job(), job(), job(0))
	if err := e.Claim(0); err != nil {
		t.Fatal(err)
	}
	e.Cancel()
	wantStatuses(t, e, workflow.Canceled, workflow.Ready, workflow.Blocked)
	if err := e.Claim(1); err == nil {
		t.Error("claimed in a canceled workflow")
	}
	if !e.Counts().Ended() {
		t.Error("not ended")
	}
	e.ResetStatus()
	e.Initialize(true)
	wantStatuses(t, e, workflow.Canceled, workflow.Ready, workflow.Canceled)
}

// Until a new run is initialized, what a cancel left behind waits for the first
// job that becomes complete; nothing is ready before its dependencies.
func TestNewRunAfterCancel(t *testing.T) {
	e := started(job(), job(), job(0), job(), after(workflow.RunIfAlways, 3))
	finish(t, e, 3, workflow.Failed)
	if err := e.Claim(0); err != nil {
		t.Fatal(err)
	}
	e.Cancel()
	wantStatuses(t, e, workflow.Canceled, workflow.Ready, workflow.Blocked, workflow.Failed, workflow.Ready)
	if err := e.Apply(workflow.OpRetry, 3, workflow.Ready); err != nil {
		t.Fatal(err)
	}
	e.ResetStatus()
	wantStatuses(t, e, workflow.Canceled, workflow.Ready, workflow.Blocked, workflow.Ready, workflow.Blocked)
	finish(t, e, 1, workflow.Completed)
	wantStatuses(t, e, workflow.Canceled, workflow.Completed, workflow.Canceled, workflow.Ready, workflow.Blocked)
}

func TestRetryOpensAgainWhatWasSkipped(t *testing.T) {
	e := started(job(), job(), job(0, 1), job(2), after(workflow.RunIfAlways, 0))
	finish(t, e, 0, workflow.Failed)
	finish(t, e, 1, workflow.Completed)
	wantStatuses(t, e, workflow.Failed, workflow.Completed, workflow.Canceled, workflow.Canceled, workflow.Ready)
	if err := e.Apply(workflow.OpRetry, 0, workflow.Ready); err != nil {
		t.Fatal(err)
	}
	wantStatuses(t, e, workflow.Ready, workflow.Completed, workflow.Blocked, workflow.Blocked, workflow.Blocked)
	finish(t, e, 0, workflow.Completed)
	wantStatuses(t, e, workflow.Completed, workflow.Completed, workflow.Ready, workflow.Blocked, workflow.Ready)
}

func TestResetOfFailedJobs(t *testing.T) {
	e := started(job(), job(), job(0), job(2), job(1))
	finish(t, e, 0, workflow.Failed)
	finish(t, e, 1, workflow.Completed)
	e.ResetJobs(true)
	wantStatuses(t, e, workflow.Uninitialized, workflow.Completed, workflow.Uninitialized, workflow.Uninitialized, workflow.Ready)
	e.Initialize(true)
	wantStatuses(t, e, workflow.Ready, workflow.Completed, workflow.Blocked, workflow.Blocked, workflow.Ready)
}

// A job that was reset is not released by a failure that still stands.
func TestInitializeSkipsBehindAFailure(t *testing.T) {
	e := started(job(), job(0))
	finish(t, e, 0, workflow.Failed)
	if err := e.Apply(workflow.OpManage, 1, workflow.Uninitialized); err != nil {
		t.Fatal(err)
	}
	e.Initialize(true)
	wantStatuses(t, e, workflow.Failed, workflow.Canceled)
}

func TestInitializeInFullWaitsForWhatIsOpen(t *testing.T) {
	e := started(job(), job(0), job(1))
	finish(t, e, 0, workflow.Completed)
	finish(t, e, 1, workflow.Completed)
	finish(t, e, 2, workflow.Completed)
	if err := e.Apply(workflow.OpManage, 0, workflow.Ready); err != nil {
		t.Fatal(err)
	}
	e.Initialize(true)
	wantStatuses(t, e, workflow.Ready, workflow.Completed, workflow.Completed)
	e.Initialize(false)
	wantStatuses(t, e, workflow.Ready, workflow.Blocked, workflow.Blocked)
}

func TestManageResetsWhatCameNext(t *testing.T) {
	e := started(job(), job(0), job(1))
	finish(t, e, 0, workflow.Completed)
	finish(t, e, 1, workflow.Completed)
	finish(t, e, 2, workflow.Completed)
	if err := e.Apply(workflow.OpManage, 0, workflow.Uninitialized); err != nil {
		t.Fatal(err)
	}
	wantStatuses(t, e, workflow.Uninitialized, workflow.Uninitialized, workflow.Completed)
}

func TestSpawnedJobsWait(t *testing.T) {
	e := started(job())
	if err := e.Claim(0); err != nil {
		t.Fatal(err)
	}
	if i := e.Spawn([]int{0}, workflow.RunIfSuccess); i != 1 {
		t.Errorf("index %d", i)
	}
	wantStatuses(t, e, workflow.Pending, workflow.Blocked)
	if err := e.Apply(workflow.OpFinish, 0, workflow.Completed); err != nil {
		t.Fatal(err)
	}
	wantStatuses(t, e, workflow.Completed, workflow.Ready)
}

func drawJobs(t *rapid.T) []Job {
	jobs := make([]Job, rapid.IntRange(1, 9).Draw(t, "jobs"))
	for i := range jobs {
		jobs[i].RunIf = workflow.RunIf(rapid.IntRange(0, 2).Draw(t, "run_if"))
		if i > 0 {
			jobs[i].DependsOn = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, 3, rapid.ID).Draw(t, "deps")
			slices.Sort(jobs[i].DependsOn)
		}
	}
	return jobs
}

// drawOperation does something to the engine, if it may be done. An operator's
// word is left out: it may break the rules that the test is about.
func drawOperation(t *rapid.T, e *Engine) {
	i := rapid.IntRange(0, len(e.Jobs)-1).Draw(t, "job")
	switch rapid.IntRange(0, 12).Draw(t, "what") {
	case 0:
		e.Initialize(rapid.Bool().Draw(t, "only"))
	case 1:
		e.ResetJobs(rapid.Bool().Draw(t, "failed_only"))
	case 2:
		e.ResetStatus()
	case 3:
		if rapid.Bool().Draw(t, "really") {
			e.Cancel()
		}
	case 4, 5, 6:
		for k := range e.Jobs { // whatever can be claimed first
			if e.Claim(k) == nil {
				break
			}
		}
	default:
		var possible []workflow.Transition
		for _, tr := range workflow.Transitions() {
			single := !slices.Contains([]workflow.Operation{workflow.OpInitialize, workflow.OpReset, workflow.OpManage, workflow.OpRelease, workflow.OpSkip, workflow.OpReopen, workflow.OpClaim, workflow.OpCancel}, tr.Op)
			// Only the undo of an earlier run rests after it was complete; others depend on
			// no undo, and the engine has none.
			rests := tr.Op == workflow.OpStage && tr.From.IsComplete() && tr.To == workflow.Disabled
			if single && !rests && tr.From == e.Jobs[i].Status {
				possible = append(possible, tr)
			}
		}
		if len(possible) > 0 {
			tr := rapid.SampledFrom(possible).Draw(t, "transition")
			if err := e.Apply(tr.Op, i, tr.To); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkRules says what must hold at every moment.
func checkRules(e *Engine) error {
	for i, j := range e.Jobs {
		switch {
		case j.Status == workflow.Ready && e.open(i):
			return fmt.Errorf("job %d is ready before its dependencies", i)
		case e.Halted:
		case j.Status == workflow.Blocked && !e.open(i):
			return fmt.Errorf("job %d is blocked and waits for nothing", i)
		case j.Skipped && j.Status == workflow.Canceled && j.RunIf == workflow.RunIfSuccess && e.failedBefore(i):
		case j.Skipped && j.Status == workflow.Disabled && j.RunIf == workflow.RunIfFailure && !e.failedBefore(i):
		case j.Skipped:
			return fmt.Errorf("job %d is %s and skipped without a reason", i, j.Status)
		}
	}
	return nil
}

func TestRulesHoldWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &Engine{Jobs: drawJobs(t)}
		e.Initialize(false)
		for range rapid.IntRange(0, 30).Draw(t, "operations") {
			drawOperation(t, e)
			if err := checkRules(e); err != nil {
				t.Fatalf("%v\n%+v", err, e.Jobs)
			}
		}
	})
}

// Every workflow comes to its end if runners take what is ready and people
// classify what is held.
func TestEveryWorkflowEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &Engine{Jobs: drawJobs(t)}
		e.Initialize(false)
		for range rapid.IntRange(0, 20).Draw(t, "operations") {
			drawOperation(t, e)
		}
		e.ResetStatus()
		e.Initialize(true)
		for turns := 0; !e.Counts().Ended(); turns++ {
			if turns > 10*len(e.Jobs) {
				t.Fatalf("it does not end: %v", e.Statuses())
			}
			for i := range e.Jobs {
				run(t, e, i)
			}
		}
		for _, s := range e.Statuses() {
			if !s.IsComplete() {
				t.Fatalf("ended with a job that is %s", s)
			}
		}
	})
}

// run brings one job a step further.
func run(t *rapid.T, e *Engine, i int) {
	ends := rapid.SampledFrom([]workflow.JobStatus{workflow.Completed, workflow.Failed, workflow.Terminated, workflow.Canceled})
	step := map[workflow.JobStatus]workflow.Transition{
		workflow.Ready:         {To: workflow.Pending, Op: workflow.OpClaim},
		workflow.Pending:       {To: workflow.Running, Op: workflow.OpStart},
		workflow.Running:       {To: ends.Draw(t, "end"), Op: workflow.OpFinish},
		workflow.PendingFailed: {To: workflow.Failed, Op: workflow.OpClassify},
	}
	if s, ok := step[e.Jobs[i].Status]; ok {
		if err := e.Apply(s.Op, i, s.To); err != nil {
			t.Fatal(err)
		}
	}
}
