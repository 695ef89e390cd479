package stage_test

import (
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

func TestStageStep(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    stage.Facts
		want stage.Step
	}{
		{"waits for its job", stage.Facts{State: stage.NotStarted, Job: Blocked, Open: true}, stage.StageStay},
		{"its job is ready", stage.Facts{State: stage.NotStarted, Job: Ready, Open: true}, stage.StageStart},
		{"its job is held", stage.Facts{State: stage.NotStarted, Job: PendingFailed, Open: true}, stage.StageStay},
		{"its job was skipped", stage.Facts{State: stage.NotStarted, Job: Canceled, Open: true}, stage.StageDrop},
		{"its job was canceled as it ran", stage.Facts{State: stage.Running, Job: Canceled, Open: true}, stage.StageDrop},
		{"its job is not needed, it has none itself", stage.Facts{State: stage.NotStarted, Job: Disabled}, stage.StageDrop},

		{"runs", stage.Facts{State: stage.Running, Job: Running, Open: true}, stage.StageStay},
		{"all are complete", stage.Facts{State: stage.Running, Job: Running}, stage.StageFinish},
		{"has its verdict", stage.Facts{State: stage.Ended, Job: Failed}, stage.StageStay},
		{"a job is retried after the verdict", stage.Facts{State: stage.Ended, Job: Failed, Open: true}, stage.StageReopen},
		{"its job waits again after the verdict", stage.Facts{State: stage.Ended, Job: Blocked}, stage.StageReset},
		{"its job is ready again after the verdict", stage.Facts{State: stage.Ended, Job: Ready}, stage.StageReset},

		{"the end job waits", stage.Facts{State: stage.Running, Job: Running, Open: true, End: stage.NotStarted, EndOpen: true}, stage.StageStay},
		{"it is the turn of the end job", stage.Facts{State: stage.Running, Job: Running, End: stage.NotStarted, EndOpen: true}, stage.StageStartEnd},
		{"the end job runs", stage.Facts{State: stage.Running, Job: Running, End: stage.Running, EndOpen: true}, stage.StageStay},
		{"a job is open again beside the end job", stage.Facts{State: stage.Running, Job: Running, Open: true, End: stage.Running, EndOpen: true}, stage.StageResetEnd},
		{"a job is open again after the end job", stage.Facts{State: stage.Running, Job: Running, Open: true, End: stage.Running}, stage.StageResetEnd},
		{"the end job is complete", stage.Facts{State: stage.Running, Job: Running, End: stage.Running}, stage.StageFinish},
		{"the end job alone is retried after the verdict", stage.Facts{State: stage.Ended, Job: Failed, End: stage.Ended, EndOpen: true}, stage.StageReopen},
		{"then it may begin", stage.Facts{State: stage.Running, Job: Running, End: stage.Ended, EndOpen: true}, stage.StageStartEnd},
	} {
		if got := tc.f.Next(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// after lists what doing a step can lead to.
func after(f stage.Facts, step stage.Step) []stage.Facts {
	reopensEnd := func(f stage.Facts) []stage.Facts { // what had an end job begins anew, unless it was disabled
		if f.End == "" || f.End == stage.NotStarted {
			return []stage.Facts{f}
		}
		f.End = stage.NotStarted
		anew := f
		anew.EndOpen = true
		return []stage.Facts{f, anew}
	}
	switch step {
	case stage.StageStart, stage.StageReopen:
		f.Job, f.State = Running, stage.Running
	case stage.StageReset:
		f.State = stage.NotStarted
		anew := f
		anew.Open = true
		return append(reopensEnd(f), reopensEnd(anew)...)
	case stage.StageResetEnd:
		return reopensEnd(f)
	case stage.StageStartEnd:
		f.End = stage.Running
	case stage.StageDrop, stage.StageFinish:
		f.State = stage.Ended
		if f.End != "" {
			f.End = stage.Ended
		}
		if step == stage.StageDrop {
			f.Open, f.EndOpen = false, false
			return []stage.Facts{f}
		}
		failed := f
		f.Job, failed.Job = Completed, Failed
		return []stage.Facts{f, failed}
	}
	return []stage.Facts{f}
}

// TestStageStepsEnd: from wherever a stage is, a few steps lead to facts that ask
// for nothing, whatever they did to the jobs. Else a transaction would not end.
func TestStageStepsEnd(t *testing.T) {
	const most = 4 // reset, start, start the end, finish
	var walk func(f stage.Facts, path []stage.Step)
	walk = func(f stage.Facts, path []stage.Step) {
		step := f.Next()
		path = append(path[:len(path):len(path)], step)
		switch {
		case step == stage.StageStay:
			checkAtRest(t, f)
			return
		case len(path) > most:
			t.Fatalf("%v lead to %+v and go on", path, f)
		case step == stage.StageFinish && (f.Open || f.EndOpen):
			t.Fatalf("%v: a verdict with open jobs: %+v", path, f)
		case step == stage.StageStartEnd && f.Open:
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

func allStageFacts() (all []stage.Facts) {
	for _, state := range []stage.State{stage.NotStarted, stage.Running, stage.Ended} {
		for _, job := range JobStatuses() {
			for _, open := range []bool{false, true} {
				all = append(all, stage.Facts{State: state, Job: job, Open: open})
				for _, end := range []stage.State{stage.NotStarted, stage.Running, stage.Ended} {
					for _, endOpen := range []bool{false, true} {
						all = append(all, stage.Facts{State: state, Job: job, Open: open, End: end, EndOpen: endOpen})
					}
				}
			}
		}
	}
	return all
}

// checkAtRest: a stage for which nothing is to be done is as its job is.
func checkAtRest(t *testing.T, f stage.Facts) {
	t.Helper()
	switch {
	case f.Job.IsComplete():
		if f.State != stage.Ended || f.Open || f.EndOpen {
			t.Fatalf("its job is complete, it is not: %+v", f)
		}
	case f.Job == Running:
		if !f.Open && !f.EndOpen {
			t.Fatalf("nothing is left to run, and no verdict comes: %+v", f)
		}
		if f.Open && f.End != "" && f.End != stage.NotStarted {
			t.Fatalf("the end job does not wait for the others: %+v", f)
		}
		if !f.Open && f.End != stage.Running {
			t.Fatalf("the end job is left, and it does not run: %+v", f)
		}
	default:
		if f.State != stage.NotStarted || f.Job == Ready {
			t.Fatalf("its job waits: %+v", f)
		}
	}
}
