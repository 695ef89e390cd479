package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// staged is a rig with a workflow from a definition.
type staged struct {
	*rig
	def  *workflow.Definition
	node *hand
}

// newStaged creates and initializes a workflow, in run 1.
func newStaged(tb testing.TB, def *workflow.Definition) *staged {
	tb.Helper()
	s := &staged{rig: newRig(tb)}
	s.load(def)
	return s
}

// load creates another workflow, which the rig uses from now on.
func (s *staged) load(def *workflow.Definition) {
	s.tb.Helper()
	if s.def = def; def.Name == "" {
		def.Name, def.User = "w", "me"
	}
	w, err := s.Workflows.BeginDefinition(s.ctx, def, "")
	s.must(err)
	s.must(w.Add(def))
	s.workflow, err = w.Finish(s.ctx, int64(len(def.Jobs)), int64(len(def.Files)))
	s.must(err)
	s.ids = w.jobs
	s.do(func(tx *core.Tx) error { return tx.ExecOne(`UPDATE workflow SET run_id = 1 WHERE id = ?`, s.workflow) })
	s.initialize()
	s.node = s.hand("n1", 100)
}

func (s *staged) initialize() {
	s.tb.Helper()
	s.must(s.Workflows.Initialize(s.ctx, s.workflow, InitializeOptions{User: "me"}))
}

// name returns the name of a job.
func (s *staged) name(id int64) string { return s.def.Jobs[slices.Index(s.ids, id)].Name }

// id returns the id of a job.
func (s *staged) id(name string) int64 {
	return s.ids[slices.IndexFunc(s.def.Jobs, func(j workflow.JobDefinition) bool { return j.Name == name })]
}

// play runs jobs until none is granted any more. Jobs exit with the given codes, by
// default 0.
func (s *staged) play(codes map[string]int64) (ran []string) {
	s.tb.Helper()
	for answer := s.node.turn(); len(answer.Grants) > 0; {
		for _, g := range answer.Grants {
			ran = append(ran, s.name(g.JobID))
		}
		answer = s.end(answer, codes)
		s.check()
	}
	return ran
}

// end ends what was granted, with the given codes, and sends the next turn.
func (s *staged) end(answer lease.TurnResponse, codes map[string]int64) lease.TurnResponse {
	s.tb.Helper()
	var reports []lease.Report
	for _, g := range answer.Grants {
		r := exited(g.LeaseRef, codes[s.name(g.JobID)])
		r.StartedMS, r.EndedMS = s.now.UnixMilli(), s.now.UnixMilli()+1
		reports = append(reports, r)
	}
	s.now = s.now.Add(time.Second)
	return s.node.turn(reports...)
}

// log lists the events, in their order.
func (s *staged) log() []string {
	s.tb.Helper()
	events, err := s.Events.After(s.ctx, s.workflow, 0, 100_000)
	s.must(err)
	var lines []string
	for _, e := range events {
		var p struct {
			JobName   string `json:"job_name"`
			Stage     string `json:"stage"`
			Routed    bool   `json:"routed_to_end"`
			Evaluated bool   `json:"evaluated_by_end_step"`
			Total     int64  `json:"total_steps"`
			Failed    int64  `json:"failed_steps_count"`
			Count     int64  `json:"count"`
		}
		s.must(json.Unmarshal(e.Data, &p))
		line := string(e.Type)
		if p.Stage != "" {
			line += " [" + p.Stage + "]"
		} else if p.JobName != "" {
			line += " " + p.JobName
		}
		if p.Routed {
			line += " routed_to_end"
		}
		if p.Evaluated {
			line += fmt.Sprintf(" %d of %d failed", p.Failed, p.Total)
		}
		if p.Count > 0 {
			line += fmt.Sprintf(" x%d", p.Count)
		}
		switch e.Type {
		case workflow.EventWorkflowReinitialized, workflow.EventComputeNodeStarted, workflow.EventJobStarted:
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

// status returns the status of a job.
func (s *staged) status(name string) workflow.JobStatus {
	s.tb.Helper()
	return workflow.JobStatus(s.number(`SELECT status FROM job WHERE id = ?`, s.id(name)))
}

// statusOf compares statuses of jobs.
func (s *staged) statusOf(want map[string]workflow.JobStatus) {
	s.tb.Helper()
	got := map[string]workflow.JobStatus{}
	for name := range want {
		got[name] = s.status(name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.tb.Fatalf("statuses (-want +got):\n%s", diff)
	}
	s.check()
}

// stages of the definitions below, as numbers.
const (
	inMain int32 = iota
	first
	second
	third
)

func job(name string, stage int32, after ...int32) workflow.JobDefinition {
	return workflow.JobDefinition{Name: name, Command: "true", Stage: stage, DependsOn: after}
}

func child(name string, stage, of int32, after ...int32) workflow.JobDefinition {
	j := job(name, of, after...)
	j.Child = stage
	return j
}

// withChild is a before, a sub-workflow of two jobs, an after, and an end job if
// wanted.
func withChild(end bool) *workflow.Definition {
	d := &workflow.Definition{
		Stages: []workflow.StageDefinition{{Kind: workflow.StageChild, Name: "sub"}},
		Jobs: []workflow.JobDefinition{
			job("before", inMain), child("sub", first, inMain, 0), job("sub/a", first), job("sub/b", first, 2), job("after", inMain, 1),
		},
	}
	if end {
		d.Stages = append(d.Stages, workflow.StageDefinition{Kind: workflow.StageEnd, Name: "end"})
		d.Jobs = append(d.Jobs, job("end", second))
	}
	return d
}

// withEnd is two jobs, one after the other, two beside them, and an end job.
func withEnd() *workflow.Definition {
	return &workflow.Definition{
		Stages: []workflow.StageDefinition{{Kind: workflow.StageEnd, Name: "end"}},
		Jobs:   []workflow.JobDefinition{job("step1", inMain), job("step2", inMain, 0), job("step3", inMain, 1), job("beside", inMain), job("end", first)},
	}
}

// TestWaysToTheEnd plays runs and compares their events, in order.
func TestWaysToTheEnd(t *testing.T) {
	plain := func() *workflow.Definition {
		d := withEnd()
		d.Stages, d.Jobs = nil, d.Jobs[:4]
		return d
	}
	for name, c := range map[string]struct {
		def   *workflow.Definition
		codes map[string]int64
		want  string
	}{
		"success": {withEnd(), nil, `
			job_completed step1
			job_completed beside
			job_completed step2
			job_completed step3
			end_reached [end]
			job_completed end
			workflow_completed 0 of 4 failed`},
		"failure": {withEnd(), map[string]int64{"step2": 1}, `
			job_completed step1
			job_completed beside
			job_failed step2 routed_to_end
			jobs_skipped x1
			end_reached [end]
			job_completed end
			workflow_failed 1 of 4 failed`},
		"parallel failure": {withEnd(), map[string]int64{"beside": 1}, `
			job_completed step1
			job_failed beside routed_to_end
			job_completed step2
			job_completed step3
			end_reached [end]
			job_completed end
			workflow_failed 1 of 4 failed`},
		"failed end": {withEnd(), map[string]int64{"end": 3}, `
			job_completed step1
			job_completed beside
			job_completed step2
			job_completed step3
			end_reached [end]
			job_failed end
			workflow_failed 0 of 4 failed`},
		"no end given": {plain(), nil, `
			job_completed step1
			job_completed beside
			job_completed step2
			job_completed step3
			workflow_completed 0 of 4 failed`},
		"sub-workflow": {withChild(true), nil, `
			job_completed before
			stage_started [sub]
			job_completed sub/a
			job_completed sub/b
			stage_completed [sub] 0 of 2 failed
			job_completed sub
			job_completed after
			end_reached [end]
			job_completed end
			workflow_completed 0 of 3 failed`},
		"failed sub-workflow": {withChild(true), map[string]int64{"sub/b": 1}, `
			job_completed before
			stage_started [sub]
			job_completed sub/a
			job_failed sub/b routed_to_end
			stage_failed [sub] 1 of 2 failed
			job_failed sub routed_to_end
			jobs_skipped x1
			end_reached [end]
			job_completed end
			workflow_failed 1 of 3 failed`},
		"skipped sub-workflow": {withChild(false), map[string]int64{"before": 1}, `
			job_failed before routed_to_end
			jobs_skipped x2
			jobs_skipped x2
			workflow_failed 1 of 3 failed`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStaged(t, c.def)
			s.play(c.codes)
			var want []string
			for line := range strings.Lines(strings.TrimSpace(c.want)) {
				want = append(want, strings.TrimSpace(line))
			}
			if diff := cmp.Diff(want, s.log()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			s.sound(check.Witness{})
		})
	}
}

// nested is a sub-workflow in a sub-workflow with an end job of its own.
func nested() *workflow.Definition {
	return &workflow.Definition{
		Stages: []workflow.StageDefinition{
			{Kind: workflow.StageChild, Name: "out"}, {Kind: workflow.StageChild, Name: "out/in", Parent: first}, {Kind: workflow.StageEnd, Name: "out/end", Parent: first},
		},
		Jobs: []workflow.JobDefinition{
			child("out", first, inMain), job("out/a", first), child("out/in", second, first, 1), job("out/in/x", second), job("out/in/y", second),
			job("out/end", third), job("after", inMain, 0),
		},
	}
}

func TestNestedStages(t *testing.T) {
	s := newStaged(t, nested())
	ran := s.play(map[string]int64{"out/in/x": 1})
	if diff := cmp.Diff([]string{"out/a", "out/in/x", "out/in/y", "out/end"}, ran); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"stage_started [out]", "job_completed out/a", "stage_started [out/in]", "job_failed out/in/x routed_to_end", "job_completed out/in/y",
		"stage_failed [out/in] 1 of 2 failed", "job_failed out/in routed_to_end", "end_reached [out/end]", "job_completed out/end",
		"stage_failed [out] 1 of 2 failed", "job_failed out routed_to_end", "jobs_skipped x1", "workflow_failed 1 of 2 failed",
	}, s.log()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s.sound(check.Witness{})
}

// Repeated jobs of a child run alone, and then what is behind them.
func TestStagesAreRepeated(t *testing.T) {
	failing := map[string]int64{"sub/b": 1}
	for name, c := range map[string]struct {
		again func(s *staged)
		want  []string // what then runs
	}{
		"the job of the child": {func(s *staged) {
			_, err := s.Jobs.Retry(s.ctx, s.id("sub/b"), 1, 10)
			s.must(err)
		}, []string{"sub/b", "after", "end"}},
		"the sub-workflow": {func(s *staged) {
			_, err := s.Jobs.Retry(s.ctx, s.id("sub"), 1, 10)
			s.must(err)
		}, []string{"sub/a", "sub/b", "after", "end"}},
		"the end job": {func(s *staged) {
			_, err := s.Jobs.ManageStatusChange(s.ctx, s.id("end"), workflow.Ready, 1)
			s.must(err)
		}, []string{"end"}},
		"what failed": {func(s *staged) {
			_, err := s.Workflows.ResetJobs(s.ctx, s.workflow, true, "me")
			s.must(err)
			s.initialize()
		}, []string{"sub/b", "after", "end"}},
		"everything": {func(s *staged) {
			_, err := s.Workflows.ResetJobs(s.ctx, s.workflow, false, "me")
			s.must(err)
			s.initialize()
		}, []string{"before", "sub/a", "sub/b", "after", "end"}},
		"what is before the sub-workflow": {func(s *staged) {
			_, err := s.Jobs.ManageStatusChange(s.ctx, s.id("before"), workflow.Uninitialized, 1)
			s.must(err)
			s.initialize()
		}, []string{"before", "sub/a", "sub/b", "after", "end"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStaged(t, withChild(true))
			s.play(failing)
			if got := s.ended(); got.EventType != string(workflow.EventWorkflowFailed) || got.EndJob == nil {
				t.Fatalf("%+v", got)
			}
			c.again(s)
			s.check()
			s.sound(check.Witness{})
			if diff := cmp.Diff(c.want, s.play(nil)); diff != "" {
				t.Errorf("what ran again (-want +got):\n%s", diff)
			}
			got := s.ended()
			if name != "the end job" && (got.EventType != string(workflow.EventWorkflowCompleted) || got.TotalSteps != 3) || got.EndGeneration != 1 {
				t.Errorf("%+v\n%s", got, strings.Join(s.log(), "\n"))
			}
			s.sound(check.Witness{})
		})
	}
}

// A new run has a new end, even if nothing was left to do.
func TestEndJobOfANewRun(t *testing.T) {
	s := newStaged(t, withEnd())
	s.play(map[string]int64{"step3": 1})
	w, err := s.Workflows.Reset(s.ctx, s.workflow, true, "me")
	s.must(err)
	_, err = s.Workflows.ResetJobs(s.ctx, s.workflow, true, "me")
	s.must(err)
	s.initialize()
	s.statusOf(map[string]workflow.JobStatus{"step1": workflow.Completed, "step3": workflow.Ready, "end": workflow.Blocked})
	s.node = s.hand("n2", 10)
	s.node.runID = w.RunID
	if diff := cmp.Diff([]string{"step3", "end"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	s.sound(check.Witness{})
}

func TestCanceledStages(t *testing.T) {
	s := newStaged(t, withChild(true))
	answer := s.node.turn()
	s.node.turn(exited(answer.Grants[0].LeaseRef, 0)) // sub/a is granted
	s.statusOf(map[string]workflow.JobStatus{"sub": workflow.Running, "sub/a": workflow.Pending, "sub/b": workflow.Blocked})
	_, err := s.Workflows.Cancel(s.ctx, s.workflow)
	s.must(err)
	s.statusOf(map[string]workflow.JobStatus{
		"sub": workflow.Canceled, "sub/a": workflow.Canceled, "sub/b": workflow.Blocked, "after": workflow.Blocked, "end": workflow.Blocked,
	})
	if v := s.ended(); v.EventType != string(workflow.EventWorkflowCanceled) || v.TotalSteps != 3 || v.NotRun != 1 {
		t.Errorf("%+v", v)
	}
	stages, err := s.Workflows.Stages(s.ctx, s.workflow)
	s.must(err)
	if stages[0].State != stage.Ended || stages[1].State != stage.NotStarted {
		t.Errorf("stages after a cancel: %s, %s", stages[0].State, stages[1].State)
	}
	s.sound(check.Witness{})
	w, err := s.Workflows.Reset(s.ctx, s.workflow, true, "me")
	s.must(err)
	_, err = s.Workflows.ResetJobs(s.ctx, s.workflow, true, "me")
	s.must(err)
	s.initialize()
	s.node = s.hand("n2", 10)
	s.node.runID = w.RunID
	if diff := cmp.Diff([]string{"sub/a", "sub/b", "after", "end"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if v := s.ended(); v.EventType != string(workflow.EventWorkflowCompleted) {
		t.Errorf("%+v", v)
	}
	s.sound(check.Witness{})
}

// TestStagesOfACanceledJob: if the sub-workflow job stays canceled in a new run, the
// remaining jobs of its stage do not run, whatever precedes them there.
func TestStagesOfACanceledJob(t *testing.T) {
	for _, done := range []bool{false, true} {
		s := newStaged(t, withChild(true))
		answer := s.node.turn()
		answer = s.node.turn(exited(answer.Grants[0].LeaseRef, 0)) // sub/a is granted
		if done {
			s.node.free.Slots = 0
			s.node.turn(exited(answer.Grants[0].LeaseRef, 0))
		}
		_, err := s.Workflows.Cancel(s.ctx, s.workflow)
		s.must(err)
		_, err = s.Workflows.Reset(s.ctx, s.workflow, true, "me")
		s.must(err)
		s.initialize()
		s.statusOf(map[string]workflow.JobStatus{"sub": workflow.Canceled, "sub/b": workflow.Canceled, "after": workflow.Canceled})
		s.sound(check.Witness{})
	}
}

// Requests that are impossible for a sub-workflow job are rejected.
func TestSubWorkflowJobsAreNobodys(t *testing.T) {
	s := newStaged(t, withChild(false))
	node := s.rig.node("n3")
	c := s.completion(1, node, workflow.Completed, 1)
	_, err := s.Jobs.Complete(s.ctx, c)
	wantCode(t, err, workflow.CodeConflict)
	for _, to := range []workflow.JobStatus{workflow.Pending, workflow.Running, workflow.PendingFailed} {
		_, err := s.Jobs.ManageStatusChange(s.ctx, s.id("sub"), to, 1)
		wantCode(t, err, workflow.CodeConflict)
	}
	_, err = s.Jobs.Delete(s.ctx, s.id("sub"), "me")
	wantCode(t, err, workflow.CodeConflict)
	// A job of a child does not begin before it.
	_, err = s.Jobs.ManageStatusChange(s.ctx, s.id("sub/a"), workflow.Ready, 1)
	s.must(err)
	s.statusOf(map[string]workflow.JobStatus{"sub": workflow.Blocked, "sub/a": workflow.Blocked})
	// Nor does another one depend on it.
	_, err = s.Jobs.Create(s.ctx, []workflow.Job{{WorkflowID: s.workflow, Name: "late", Command: "true", DependsOn: []int64{s.id("sub/a")}}})
	wantCode(t, err, workflow.CodeInvalid)
}
