package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// databaseName is the identity of the database of a run.
const databaseName = "simulated"

func readSecret(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}

func memberOf(p runner.Place) *api.AllocationMember {
	return &api.AllocationMember{Cluster: p.Cluster, SlurmJobID: p.JobID, RestartCount: p.RestartCount}
}

// submit has the daemon ask Slurm for what the workflow needs, as a user does
// who repeats a command that failed.
func (w *world) submit() {
	body, err := json.Marshal(w.submission())
	if err != nil {
		panic(err)
	}
	for w.life.Err() == nil && !w.complete() {
		ctx, cancel := context.WithTimeout(w.life, 5*time.Minute)
		answer, err := w.serve(ctx, http.MethodPost, token, fmt.Sprintf("/workflows/%d/submit", w.workflow), body, time.Millisecond)
		cancel()
		switch {
		case err != nil:
			w.note("submit: %v", err)
		case answer.Code == http.StatusOK:
			w.note("submitted: %s", answer.Body)
			return
		default:
			w.note("submit: %d %s", answer.Code, answer.Body)
		}
		_ = sleep(w.life, 20*time.Second)
	}
}

// cancel cancels the workflow, as a user does who repeats a command that failed.
func (w *world) cancel() {
	if sleep(w.life, w.cancelAfter) != nil || w.complete() {
		return
	}
	for w.life.Err() == nil {
		answer, err := w.serve(w.life, http.MethodPut, token, fmt.Sprintf("/workflows/%d/cancel", w.workflow), nil, time.Millisecond)
		if err == nil && answer.Code == http.StatusOK {
			w.note("canceled: %s", answer.Body)
			w.mu.Lock()
			w.acknowledged.Canceled = []int64{w.workflow}
			w.mu.Unlock()
			return
		}
		_ = sleep(w.life, 20*time.Second)
	}
}

// submission draws what is asked for.
func (w *world) submission() api.SubmitRequest {
	c := w.seed.of("submission")
	return api.SubmitRequest{
		OutputDir: w.outputDir(), Account: oneOf(c, slurmtest.DefaultAccount, slurmtest.DefaultAccount, slurmtest.LimitedAccount),
		Partition:    oneOf(c, "", "debug", "standby", "scavenge"),
		AutoSchedule: &workflow.AutoSchedule{MaxAllocations: int64(1 + c.IntN(6)), MaxSubmitPerMinute: int64(1 + c.IntN(6))},
	}
}

// awaitAllocations waits until no allocation is left.
func (w *world) awaitAllocations() {
	began := time.Now()
	for w.life.Err() == nil {
		if d := w.present(); d != nil {
			live, err := d.Store().LiveAllocations(context.Background())
			if err == nil && len(live) == 0 && !w.faulty() {
				break
			}
		}
		if time.Since(began) > 2*time.Hour {
			w.violated("P13: allocations are left two hours after the end")
			break
		}
		_ = sleep(w.life, 10*time.Second)
	}
	w.note("no allocation is left")
}

// checkCluster looks for what is left in Slurm, and at the number of calls.
func (s *cluster) checkCluster() {
	calls := s.Calls()
	_ = sleep(s.world.life, 2*time.Minute) // nodes are left
	queue, err := slurm.New(slurm.Options{Executor: s.Cluster}).Queue(context.Background(), slurm.QueueQuery{User: slurmtest.TestUser})
	if err != nil {
		s.violated("squeue: %v", err)
	}
	for i := range queue.Jobs {
		if j := &queue.Jobs[i]; !j.State.Over() {
			s.violated("P13: job %s (%s) is left in Slurm: %s", j.ID, j.Name, j.State)
		}
	}
	s.note("calls: %d in %s", len(calls), time.Since(s.began))
}

// checkIntents sees to it that no two allocations of an intent took work (P9).
func (w *world) checkIntents(st *store.Store) {
	all, _, err := st.Allocations(context.Background(), store.AllocationFilter{WorkflowID: w.workflow}, store.Page{Limit: api.MaxLimit})
	if err != nil {
		w.violated("allocations: %v", err)
	}
	for _, a := range all {
		w.note("allocation %d: job %d life %d %s, %s: %s", a.ID, a.SlurmJobID, a.RestartCount, a.State, a.Cause, a.CauseText)
	}
}
