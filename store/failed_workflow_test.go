package store

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// troubled is a workflow with a job of nearly every kind; together they end in nearly
// every way.
func troubled() (def *workflow.Definition, codes map[string][]int64) {
	const raw, model = 0, 1
	def = &workflow.Definition{
		Name: "troubled", User: "me", Description: "has it all", SubmissionDirectory: "/work/troubled",
		Policy: &workflow.RunPolicy{
			End:       &workflow.EndPolicy{SuccessIf: "completed == total"},
			OnFailure: &workflow.CompensationPolicy{MaxAttempts: new(int64(2))},
		},
		FailureHandlers: []workflow.FailureHandlerDefinition{{Name: "again", Rules: []workflow.FailureRule{{ExitCodes: []int64{75}, MaxRetries: 3}}}},
		Files:           []workflow.FileDefinition{{Name: "raw", Path: "raw.csv"}, {Name: "model", Path: "model.bin"}},
		Stages: []workflow.StageDefinition{
			{Kind: workflow.StageChild, Name: "train"}, {Kind: workflow.StageEnd, Name: "train/end", Parent: first},
			{Kind: workflow.StageEnd, Name: "end"}, {Kind: workflow.StageCompensation, Name: workflow.CompensationStage},
		},
		Jobs: []workflow.JobDefinition{
			job("data", inMain), job("load", inMain, 0), child("train", first, inMain, 1), job("broken", inMain, 0), job("publish", inMain, 2),
			job("rescue", inMain, 3), job("spare", inMain, 0),
			job("train/fit", first), job("train/score", first, 7), job("train/end", second), job("end", third), job("on_failure/tell", third+1),
		},
	}
	def.Jobs[0].OutputFiles, def.Jobs[1].InputFiles, def.Jobs[7].OutputFiles = []int32{raw}, []int32{raw}, []int32{model}
	def.Jobs[1].FailureHandler = "again"
	def.Jobs[5].RunIf, def.Jobs[6].RunIf = workflow.RunIfFailure, workflow.RunIfFailure
	stage.AddCompensation(def, map[int32]string{0: "rm raw.csv", 1: "./unload", 4: "./withdraw"})
	return def, map[string][]int64{"load": {75, 0}, "broken": {3}, "train/score": {1}, "undo/load": {1, 0}}
}

// playTroubled runs a troubled workflow to its end, and returns the inputs of its jobs.
// The nth attempt of a job takes n seconds.
func playTroubled(s *staged, codes map[string][]int64) (inputs map[string]*lease.GrantInput) {
	inputs = map[string]*lease.GrantInput{}
	for answer := s.node.turn(); len(answer.Grants) > 0; {
		var reports []lease.Report
		for _, g := range answer.Grants {
			name, code := s.name(g.JobID), int64(0)
			if list := codes[name]; len(list) > 0 {
				code, codes[name] = list[0], list[1:]
			}
			if g.Input != nil {
				inputs[name] = g.Input
			}
			r := exited(g.LeaseRef, code)
			r.StartedMS, r.EndedMS = s.now.UnixMilli(), s.now.UnixMilli()+1000*g.Attempt
			reports = append(reports, r)
		}
		s.now = s.now.Add(time.Minute)
		if answer = s.node.turn(reports...); len(answer.Grants) == 0 {
			s.now = s.now.Add(time.Hour) // past every delay
			answer = s.node.turn()
		}
	}
	return inputs
}

func indented(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

// TestInputs compares everything that end jobs and the jobs of a compensation are told
// about a run with failed, canceled, retried and unneeded jobs, a sub-workflow and files.
func TestInputs(t *testing.T) {
	def, codes := troubled()
	s := newStaged(t, def)
	inputs := playTroubled(s, codes)
	for name, path := range map[string]string{"end": "testdata/end_input.golden", "train/end": "testdata/end_input_child.golden"} {
		if in := inputs[name]; in == nil || in.Variable != "TORC_END_JSON" {
			t.Errorf("the input of %s: %+v", name, in)
		} else {
			golden.Compare(t, path, indented(t, in.Data))
		}
	}
	if len(inputs) != 2 {
		t.Errorf("inputs: %v", inputs)
	}
	if got := s.compensation(); got != "completed" {
		t.Errorf("compensation: %s", got)
	}
	failed, total, err := s.Workflows.Failed(s.ctx, s.workflow, sqlite.Page{Limit: 100})
	s.must(err)
	if total != int64(len(failed.Tasks)) {
		t.Errorf("%d tasks of %d", len(failed.Tasks), total)
	}
	golden.Compare(t, "testdata/failed_workflow.golden", indented(t, failed))
	s.sound(check.Witness{})
}

// TestFailedWorkflowByPages: pages follow each other without gaps.
func TestFailedWorkflowByPages(t *testing.T) {
	def, codes := troubled()
	s := newStaged(t, def)
	playTroubled(s, codes)
	all, total, err := s.Workflows.Failed(s.ctx, s.workflow, sqlite.Page{Limit: 100})
	s.must(err)
	for i := range total {
		one, n, err := s.Workflows.Failed(s.ctx, s.workflow, sqlite.Page{Offset: i, Limit: 1})
		s.must(err)
		if n != total || len(one.Tasks) != 1 || one.Tasks[0].ID != all.Tasks[i].ID {
			t.Errorf("page %d: %d tasks of %d: %+v", i, len(one.Tasks), n, one.Tasks)
		}
	}
}
