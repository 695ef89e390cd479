package workflow_test

import (
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestStageStep(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    StageFacts
		want StageStep
	}{
		{"waits for its job", StageFacts{State: StageNotStarted, Job: Blocked, Open: true}, StageStay},
		{"its job is ready", StageFacts{State: StageNotStarted, Job: Ready, Open: true}, StageStart},
		{"its job is held", StageFacts{State: StageNotStarted, Job: PendingFailed, Open: true}, StageStay},
		{"its job was skipped", StageFacts{State: StageNotStarted, Job: Canceled, Open: true}, StageDrop},
		{"its job was canceled as it ran", StageFacts{State: StageRunning, Job: Canceled, Open: true}, StageDrop},
		{"its job is not needed, it has none itself", StageFacts{State: StageNotStarted, Job: Disabled}, StageDrop},

		{"runs", StageFacts{State: StageRunning, Job: Running, Open: true}, StageStay},
		{"all are complete", StageFacts{State: StageRunning, Job: Running}, StageFinish},
		{"has its verdict", StageFacts{State: StageEnded, Job: Failed}, StageStay},
		{"a job is retried after the verdict", StageFacts{State: StageEnded, Job: Failed, Open: true}, StageReopen},
		{"its job waits again after the verdict", StageFacts{State: StageEnded, Job: Blocked}, StageReset},
		{"its job is ready again after the verdict", StageFacts{State: StageEnded, Job: Ready}, StageReset},

		{"the end job waits", StageFacts{State: StageRunning, Job: Running, Open: true, End: StageNotStarted, EndOpen: true}, StageStay},
		{"it is the turn of the end job", StageFacts{State: StageRunning, Job: Running, End: StageNotStarted, EndOpen: true}, StageStartEnd},
		{"the end job runs", StageFacts{State: StageRunning, Job: Running, End: StageRunning, EndOpen: true}, StageStay},
		{"a job is open again beside the end job", StageFacts{State: StageRunning, Job: Running, Open: true, End: StageRunning, EndOpen: true}, StageResetEnd},
		{"a job is open again after the end job", StageFacts{State: StageRunning, Job: Running, Open: true, End: StageRunning}, StageResetEnd},
		{"the end job is complete", StageFacts{State: StageRunning, Job: Running, End: StageRunning}, StageFinish},
		{"the end job alone is retried after the verdict", StageFacts{State: StageEnded, Job: Failed, End: StageEnded, EndOpen: true}, StageReopen},
		{"then it may begin", StageFacts{State: StageRunning, Job: Running, End: StageEnded, EndOpen: true}, StageStartEnd},
	} {
		if got := tc.f.Next(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// after lists what doing a step can lead to.
func after(f StageFacts, step StageStep) []StageFacts {
	reopensEnd := func(f StageFacts) []StageFacts { // what had an end job begins anew, unless it was disabled
		if f.End == "" || f.End == StageNotStarted {
			return []StageFacts{f}
		}
		f.End = StageNotStarted
		anew := f
		anew.EndOpen = true
		return []StageFacts{f, anew}
	}
	switch step {
	case StageStart, StageReopen:
		f.Job, f.State = Running, StageRunning
	case StageReset:
		f.State = StageNotStarted
		anew := f
		anew.Open = true
		return append(reopensEnd(f), reopensEnd(anew)...)
	case StageResetEnd:
		return reopensEnd(f)
	case StageStartEnd:
		f.End = StageRunning
	case StageDrop, StageFinish:
		f.State = StageEnded
		if f.End != "" {
			f.End = StageEnded
		}
		if step == StageDrop {
			f.Open, f.EndOpen = false, false
			return []StageFacts{f}
		}
		failed := f
		f.Job, failed.Job = Completed, Failed
		return []StageFacts{f, failed}
	}
	return []StageFacts{f}
}

// TestStageStepsEnd: from wherever a stage is, a few steps lead to facts that ask
// for nothing, whatever they did to the jobs. Else a transaction would not end.
func TestStageStepsEnd(t *testing.T) {
	const most = 4 // reset, start, start the end, finish
	var walk func(f StageFacts, path []StageStep)
	walk = func(f StageFacts, path []StageStep) {
		step := f.Next()
		path = append(path[:len(path):len(path)], step)
		switch {
		case step == StageStay:
			checkAtRest(t, f)
			return
		case len(path) > most:
			t.Fatalf("%v lead to %+v and go on", path, f)
		case step == StageFinish && (f.Open || f.EndOpen):
			t.Fatalf("%v: a verdict with open jobs: %+v", path, f)
		case step == StageStartEnd && f.Open:
			t.Fatalf("%v: the end job beside others: %+v", path, f)
		}
		for _, next := range after(f, step) {
			if next == f {
				t.Fatalf("%s changes nothing: %+v", step, f)
			}
			walk(next, path)
		}
	}
	for _, f := range allStageFacts() {
		walk(f, nil)
	}
}

func allStageFacts() (all []StageFacts) {
	for _, state := range []StageState{StageNotStarted, StageRunning, StageEnded} {
		for _, job := range JobStatuses() {
			for _, open := range []bool{false, true} {
				all = append(all, StageFacts{State: state, Job: job, Open: open})
				for _, end := range []StageState{StageNotStarted, StageRunning, StageEnded} {
					for _, endOpen := range []bool{false, true} {
						all = append(all, StageFacts{State: state, Job: job, Open: open, End: end, EndOpen: endOpen})
					}
				}
			}
		}
	}
	return all
}

// checkAtRest: a stage for which nothing is to be done is as its job is.
func checkAtRest(t *testing.T, f StageFacts) {
	t.Helper()
	switch {
	case f.Job.IsComplete():
		if f.State != StageEnded || f.Open || f.EndOpen {
			t.Fatalf("its job is complete, it is not: %+v", f)
		}
	case f.Job == Running:
		if !f.Open && !f.EndOpen {
			t.Fatalf("nothing is left to run, and no verdict comes: %+v", f)
		}
		if f.Open && f.End != "" && f.End != StageNotStarted {
			t.Fatalf("the end job does not wait for the others: %+v", f)
		}
		if !f.Open && f.End != StageRunning {
			t.Fatalf("the end job is left, and it does not run: %+v", f)
		}
	default:
		if f.State != StageNotStarted || f.Job == Ready {
			t.Fatalf("its job waits: %+v", f)
		}
	}
}
