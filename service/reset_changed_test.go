package service

import (
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

func TestResetChanged(t *testing.T) {
	w := newWorld(t)
	recorded, now := 1.0, 2.0
	files, err := w.store.Files.Create(t.Context(), []artifact.File{{WorkflowID: w.id, Name: "in", Path: "in.csv", ModTime: &recorded}})
	w.must(err)
	good, err := w.store.Jobs.Get(t.Context(), w.good)
	w.must(err)
	readers, err := w.store.Jobs.Create(t.Context(), []workflow.Job{
		{WorkflowID: w.id, Name: "reader", Command: "true", InputFiles: []int64{files[0].ID}, ResourceRequirementsID: good.ResourceRequirementsID},
	})
	w.must(err)
	w.run()
	changed := []api.ModifiedFile{{FileID: files[0].ID, ModTime: &now}}
	w.unchanged(func() error {
		p, err := w.ResetWorkflow(t.Context(), me, w.id, &api.ResetWorkflowRequest{DryRun: true, Changed: true, Files: changed})
		if !p.DryRun || p.Jobs != 1 || !slices.Equal(p.JobNames, []string{"reader"}) || p.CPUSeconds != 1200 || !slices.Equal(p.ChangedFiles, []string{"in.csv"}) {
			t.Errorf("proposed %+v", p)
		}
		return err
	})
	if _, err := w.ResetWorkflow(t.Context(), me, w.id, &api.ResetWorkflowRequest{Changed: true, FailedOnly: true}); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("with failed_only: %v", err)
	}
	done, err := w.ResetWorkflow(t.Context(), me, w.id, &api.ResetWorkflowRequest{Changed: true, Files: changed})
	w.must(err)
	reader, err := w.store.Jobs.Get(t.Context(), readers[0].ID)
	w.must(err)
	if !slices.Equal(done.JobNames, []string{"reader"}) || reader.Status != workflow.Uninitialized {
		t.Errorf("done %+v, job is %s", done, reader.Status)
	}
}
