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
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// databaseName is the identity of the database of a run.
const databaseName = "simulated"

func readSecret(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}

func memberOf(p runner.Place) *lease.AllocationMember {
	return &lease.AllocationMember{Cluster: p.Cluster, SlurmJobID: p.JobID, RestartCount: p.RestartCount, NodeList: p.NodeList}
}

// submit has the daemon request allocations for each run of the workflow. Like a user, it
// repeats a command that failed.
func (w *world) submit() {
	for submitted := int64(-1); w.life.Err() == nil && !w.isDone(); _ = sleep(w.life, 20*time.Second) {
		if run := w.runID(); run != submitted && !w.complete() && w.submitRun() {
			submitted = run
		}
	}
}

// submitRun reports whether the run was submitted.
func (w *world) submitRun() bool {
	body, err := json.Marshal(w.submission())
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(w.life, 5*time.Minute)
	defer cancel()
	answer, err := w.serve(ctx, http.MethodPost, token, fmt.Sprintf("/workflows/%d/submit", w.workflow), body, time.Millisecond)
	if err != nil {
		w.note("submit: %v", err)
		return false
	}
	w.note("submit: %d %s", answer.Code, answer.Body)
	return answer.Code == http.StatusOK
}

// cancel cancels the workflow. Like a user, it repeats a command that failed.
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

// submission draws the options of the submission.
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
			live, err := d.Store().Allocations.Live(context.Background())
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
