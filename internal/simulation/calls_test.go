package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// A calm world: nothing fails except a job now and then, and each allocation has work all
// the time.
const (
	calmAllocations = 50
	calmJobs        = 6000
	calmFor         = 10 * time.Minute
	callsPerMinute  = 2 // at most, by the daemon and all runners of a user
)

// TestCallsInSteadyState: many busy allocations cause few calls of Slurm.
func TestCallsInSteadyState(t *testing.T) {
	dir := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		w := newCalmWorld(dir)
		defer w.group.Wait()
		defer w.end()
		ready := make(chan struct{})
		w.group.Go(func() { w.keepDaemon(ready) })
		<-ready
		w.group.Go(func() { w.cluster.Live(w.life) })
		if err := w.submitCalm(); err != nil {
			t.Fatal(err)
		}
		_ = sleep(w.life, 2*siteInUseFor)
		if n := w.cluster.working(); n < calmAllocations*9/10 {
			t.Fatalf("%d allocations work, want about %d", n, calmAllocations)
		}
		before := len(w.cluster.Calls())
		_ = sleep(w.life, calmFor)
		made, programs := w.cluster.Calls()[before:], map[string]int{}
		for _, call := range made {
			programs[call.Program+" "+call.Args[0]]++
		}
		t.Logf("calls in %s: %v", calmFor, programs)
		if most := callsPerMinute * int(calmFor.Minutes()); len(made) > most {
			t.Errorf("%d calls in %s, want at most %d: %v", len(made), calmFor, most, programs)
		}
		if programs["squeue --all"] < int(calmFor.Minutes())/2 {
			t.Errorf("the daemon hardly polls: %v", programs)
		}
		if n := w.cluster.working(); n < calmAllocations*9/10 {
			t.Errorf("%d allocations are left", n)
		}
	})
}

// siteInUseFor is how long a daemon that requests allocations caches what the cluster
// offers.
const siteInUseFor = 5 * time.Minute

// newCalmWorld returns a world without faults whose cluster has a node for each
// allocation.
func newCalmWorld(dir string) *world {
	w := newWorld(1, dir)
	w.worst, w.until, w.jumps, w.crashes, w.cancelAfter = weather{}, w.began, false, 0, 0
	w.def = &workflow.Definition{
		Name: "calm", User: "sim",
		Requirements: []workflow.ResourceRequirements{{Name: "node", NumCPUs: 4, NumNodes: 1, Memory: "1g", Runtime: "PT30M"}},
	}
	for i := range calmJobs {
		w.def.Jobs = append(w.def.Jobs, workflow.JobDefinition{Name: fmt.Sprintf("j%d", i), Command: "work", Requirements: "node"})
	}
	w.cluster = newCluster(w)
	w.cluster.faultiness, w.cluster.mischief = 0, 0
	var nodes []slurmtest.Node
	for i := range calmAllocations {
		nodes = append(nodes, slurmtest.Node{Name: fmt.Sprintf("n%d", i+1), CPUs: 4, Memory: 4000 * slurm.MiB})
	}
	w.cluster.Cluster = slurmtest.New(slurmtest.Options{Launch: w.cluster.launch, Nodes: nodes})
	return w
}

// submitCalm has the daemon request all allocations at once.
func (w *world) submitCalm() error {
	for w.present() == nil {
		_ = sleep(w.life, time.Second)
	}
	body, err := json.Marshal(api.SubmitRequest{
		OutputDir: w.outputDir(), Account: slurmtest.DefaultAccount,
		AutoSchedule: &workflow.AutoSchedule{MaxAllocations: calmAllocations, MaxSubmitPerMinute: calmAllocations},
	})
	if err != nil {
		return err
	}
	answer, err := w.serve(context.Background(), http.MethodPost, token, fmt.Sprintf("/workflows/%d/submit", w.workflow), body, time.Millisecond)
	if err == nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("submit: %d %s", answer.Code, answer.Body)
	}
	return err
}

// working returns the number of running allocations.
func (s *cluster) working() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.batches)
}
