package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

func TestFileLife(t *testing.T) {
	n := newNouns(t)
	created, err := n.Files.Create(n.ctx, []artifact.File{
		{WorkflowID: n.workflow, Name: "in", Path: "/in"},
		{WorkflowID: n.workflow, Name: "out", Path: "/out", ModTime: new(12.5)},
	})
	n.must(err)
	job := n.job(n.workflow)
	n.insert(`INSERT INTO job_input_file (job_id, file_id) VALUES (?, ?)`, job, created[0].ID)
	n.insert(`INSERT INTO job_output_file (job_id, file_id) VALUES (?, ?)`, job, created[1].ID)

	for name, q := range map[string]FileFilter{
		"outputs":     {WorkflowID: n.workflow, OutputsOnly: true},
		"produced by": {WorkflowID: n.workflow, ProducedByJob: &job},
		"name":        {WorkflowID: n.workflow, Name: new("out")},
	} {
		got, _, err := n.Files.List(n.ctx, q, sqlite.Page{Limit: 10})
		n.must(err)
		if diff := cmp.Diff(created[1:], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	updated, err := n.Files.Update(n.ctx, artifact.File{ID: created[1].ID, WorkflowID: n.workflow, Name: "out2", Path: "/out2"})
	n.must(err)
	got, err := n.Files.Get(n.ctx, created[1].ID)
	n.must(err)
	if diff := cmp.Diff(updated, got); diff != "" || got.ModTime != nil {
		t.Errorf("after the update, whose time is nil (-want +got):\n%s", diff)
	}
	_, err = n.Files.Update(n.ctx, artifact.File{ID: created[1].ID, WorkflowID: n.other, Name: "x", Path: "/x"})
	wantCode(t, err, workflow.CodeInvalid)

	_, err = n.Files.Delete(n.ctx, created[0].ID)
	n.must(err)
	_, err = n.Files.Get(n.ctx, created[0].ID)
	wantCode(t, err, workflow.CodeNotFound)
	if left := n.count(`SELECT COUNT(*) FROM job_input_file`); left != 0 {
		t.Errorf("%d links to the deleted file are left", left)
	}
	deleted, err := n.Files.DeleteAll(n.ctx, n.workflow)
	if err != nil || deleted != 1 {
		t.Errorf("deleted %d files, error %v; want 1", deleted, err)
	}
}

func TestFilesAreCreatedAllOrNone(t *testing.T) {
	n := newNouns(t)
	_, err := n.Files.Create(n.ctx, []artifact.File{
		{WorkflowID: n.workflow, Name: "a", Path: "/a"},
		{WorkflowID: 99, Name: "b", Path: "/b"},
	})
	wantCode(t, err, workflow.CodeNotFound)
	if left := n.count(`SELECT COUNT(*) FROM file`); left != 0 {
		t.Errorf("%d files are left of a refused request", left)
	}
}
