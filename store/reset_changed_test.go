package store

import (
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// TestResetChanged: readers of a changed file, and the writer of a gone output, run again;
// the times are recorded, all in one transaction.
func TestResetChanged(t *testing.T) {
	n := newNouns(t)
	at := func(s float64) *float64 { return &s }
	w, err := n.Workflows.Create(n.ctx, workflow.Workflow{Name: "w", User: "me"})
	n.must(err)
	files, err := n.Files.Create(n.ctx, []artifact.File{
		{WorkflowID: w.ID, Name: "in", Path: "in.csv", ModTime: at(1)},
		{WorkflowID: w.ID, Name: "out", Path: "out.csv", ModTime: at(2)},
	})
	n.must(err)
	in, out := files[0].ID, files[1].ID
	g := &jobGraph{nouns: n, workflow: w.ID}
	jobs, err := n.Jobs.Create(n.ctx, []workflow.Job{
		{WorkflowID: w.ID, Name: "reads", Command: "true", InputFiles: []int64{in}},
		{WorkflowID: w.ID, Name: "writes", Command: "true", OutputFiles: []int64{out}},
		{WorkflowID: w.ID, Name: "neither", Command: "true"},
	})
	n.must(err)
	for _, j := range jobs {
		g.jobs = append(g.jobs, j.ID)
	}
	_, err = n.Workflows.StartRun(n.ctx, w.ID, "me")
	n.must(err)
	for i := range jobs {
		g.force(i, completed)
	}
	o := ResetOptions{RunID: 1, User: "me", Files: []artifact.FileTime{{FileID: in, ModTime: at(3)}, {FileID: out, ModTime: at(2)}}}
	g.unchanged("a proposal", func() {
		p, err := n.Workflows.ProposeResetChanged(n.ctx, w.ID, o)
		if n.must(err); p.Workflow.RunID != 2 || !slices.Equal(p.Jobs, []string{"reads"}) || !slices.Equal(p.Files, []string{"in.csv"}) {
			t.Errorf("proposed %+v", p)
		}
	})
	other := o
	other.Files = append(slices.Clone(o.Files), artifact.FileTime{FileID: out + 99})
	g.unchanged("a file of nobody", func() {
		_, err := n.Workflows.ResetChanged(n.ctx, w.ID, other)
		wantCode(t, err, workflow.CodeInvalid)
	})
	done, err := n.Workflows.ResetChanged(n.ctx, w.ID, o)
	if n.must(err); !slices.Equal(done.Jobs, []string{"reads"}) {
		t.Errorf("done %+v", done)
	}
	g.want("after a change", workflow.Uninitialized, completed, completed)
	if f, err := n.Files.Get(n.ctx, in); err != nil || *f.ModTime != 3 {
		t.Errorf("recorded %+v, %v", f, err)
	}
	_, err = n.Workflows.ResetChanged(n.ctx, w.ID, o)
	wantCode(t, err, workflow.CodeConflict) // another run has started
	o.RunID, o.Files[1].ModTime = 2, nil
	done, err = n.Workflows.ResetChanged(n.ctx, w.ID, o)
	if n.must(err); !slices.Equal(done.Jobs, []string{"writes"}) || !slices.Equal(done.Files, []string{"out.csv"}) {
		t.Errorf("done %+v", done)
	}
	g.want("without the output", workflow.Uninitialized, workflow.Uninitialized, completed)
}

// TestResetAllRecordsTimes: the times of files are recorded with the reset.
func TestResetAllRecordsTimes(t *testing.T) {
	n := newNouns(t)
	g := n.begun(completed, failed, completed, canceled)
	files, err := n.Files.Create(n.ctx, []artifact.File{{WorkflowID: g.workflow, Name: "in", Path: "in.csv"}})
	n.must(err)
	now := 5.5
	_, _, err = n.Workflows.ResetAll(n.ctx, g.workflow, ResetOptions{RunID: 1, User: "me", Files: []artifact.FileTime{{FileID: files[0].ID, ModTime: &now}}})
	n.must(err)
	if f, err := n.Files.Get(n.ctx, files[0].ID); err != nil || f.ModTime == nil || *f.ModTime != now {
		t.Errorf("recorded %+v, %v", f, err)
	}
}
