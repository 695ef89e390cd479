package scheduler

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// knownCluster is an Outlook on a cluster that does not change; nil: Slurm does not say.
type knownCluster struct{ cluster *forecast.Cluster }

func (k knownCluster) Cluster(context.Context) (*forecast.Cluster, error) {
	if k.cluster == nil {
		return nil, errors.New("sinfo does not answer")
	}
	return k.cluster, nil
}
func (knownCluster) Probe(context.Context, []Question)         {}
func (knownCluster) Probes() []forecast.Probe                  { return nil }
func (knownCluster) Waits(time.Time) []forecast.Past           { return nil }
func (knownCluster) Waited(*compute.Allocation, forecast.Past) {}

// idle has the scheduler know a cluster of so many free CPUs per node.
func (w *world) idle(free ...int64) {
	cluster := clusterOf(free...)
	cluster.At = w.now
	w.scheduler.Outlook = knownCluster{cluster}
}

// TestPreferences: what a submission prefers counts more than what the action prefers.
func TestPreferences(t *testing.T) {
	for _, tt := range []struct {
		submitted, action string
		want              int64 // nodes of all allocations
	}{
		{want: 4},
		{action: "balanced", want: 4},
		{action: "cost", want: 2},
		{submitted: "cost", want: 2},
		{submitted: "time", action: "cost", want: 4},
		{submitted: "cost", action: "time", want: 2},
	} {
		w := newWorld(t)
		w.idle(4, 4, 4, 4)
		w.jobs(16, 1, "1g", "PT5M")
		o := compute.SubmitOptions{OutputDir: w.output, Prefer: tt.submitted}
		w.must(w.store.Scheduling.Submit(t.Context(), w.id, o, &workflow.AutoSchedule{Prefer: tt.action}, "me"))
		r, nodes := w.look(), int64(0)
		for _, a := range r.Asked {
			nodes += a.Request.Nodes
		}
		if nodes != tt.want {
			t.Errorf("submitted with %q, action with %q: %d nodes, want %d: %v", tt.submitted, tt.action, nodes, tt.want, r.Lines())
		}
	}
	for _, p := range []Preference{PreferTime, PreferBalanced, PreferCost} {
		w := workflow.ValidatePreference(string(p))
		if w != nil {
			t.Error(w)
		}
	}
}
