package service

import (
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

func TestStartRun(t *testing.T) {
	w := newWorld(t)
	read, err := w.store.Files.Create(t.Context(), []artifact.File{{WorkflowID: w.id, Name: "in", Path: "in.csv"}, {WorkflowID: w.id, Name: "other", Path: "other.csv"}})
	w.must(err)
	_, err = w.store.Jobs.Create(t.Context(), []workflow.Job{{WorkflowID: w.id, Name: "reader", Command: "true", InputFiles: []int64{read[0].ID}, DependsOn: []int64{w.good}}})
	w.must(err)
	w.unchanged(func() error {
		p, err := w.StartRun(t.Context(), me, w.id, &api.StartRunRequest{DryRun: true})
		if !p.DryRun || !p.Started || !p.NewRun || p.RunID != 1 || p.Ready != 2 || p.Blocked != 1 || p.Reason != "no run has started yet" ||
			!slices.Equal(p.RequiredFiles, []string{"in.csv"}) || p.CPUSeconds != 2*1200 {
			t.Errorf("proposed %+v", p)
		}
		return err
	})
	done, err := w.StartRun(t.Context(), me, w.id, &api.StartRunRequest{})
	w.must(err)
	good, err := w.store.Jobs.Get(t.Context(), w.good)
	w.must(err)
	if !done.Started || done.RunID != 1 || done.RequiredFiles != nil || good.Status != workflow.Ready {
		t.Errorf("done %+v: job is %s", done, good.Status)
	}
	w.unchanged(func() error {
		for _, dry := range []bool{true, false} {
			again, err := w.StartRun(t.Context(), me, w.id, &api.StartRunRequest{DryRun: dry})
			if err != nil || again.Started || again.RunID != 1 || again.Reason != "run 1 has already started" || again.RequiredFiles != nil {
				t.Errorf("again %+v, %v", again, err)
			}
		}
		return nil
	})
	_, err = w.Cancel(t.Context(), w.id)
	w.must(err)
	for _, dry := range []bool{true, false} {
		if _, err := w.StartRun(t.Context(), me, w.id, &api.StartRunRequest{DryRun: dry}); workflow.CodeOf(err) != workflow.CodeConflict {
			t.Errorf("of a canceled workflow: %v", err)
		}
	}
}
