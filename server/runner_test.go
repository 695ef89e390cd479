package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// jobs creates n independent jobs of a workflow and initializes it.
func (a *testAPI) jobs(workflowID int64, n int) {
	a.t.Helper()
	for i := range n {
		a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id":%d,"name":"j%d","command":"true"}`, workflowID, i))
	}
	a.must("POST", fmt.Sprintf("/workflows/%d/reset_status", workflowID), "")
	a.must("POST", fmt.Sprintf("/workflows/%d/initialize_jobs", workflowID), "")
}

// post makes a call that succeeds and decodes its answer.
func post[Out any](a *testAPI, path string, in any) Out {
	a.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		a.t.Fatal(err)
	}
	got := a.send("POST", path, string(body))
	if got.status != http.StatusOK {
		a.t.Fatalf("POST %s %s: %d %s", path, body, got.status, got.text)
	}
	var out Out
	if err := json.Unmarshal([]byte(got.text), &out); err != nil {
		a.t.Fatalf("%s: %v", got.text, err)
	}
	return out
}

// testRunner makes the calls of a runner with four CPUs.
type testRunner struct {
	*testAPI
	id, run int64
	turns   int64
}

func (a *testAPI) runner(workflowID int64, key string, pid int64) *testRunner {
	a.t.Helper()
	r := post[lease.RegisterResponse](a, fmt.Sprintf("/workflows/%d/runners", workflowID), lease.RegisterRequest{
		Key: key, Hostname: "n1", PID: pid, BootID: "boot", StartTime: "2026-11-21T10:00:00Z", NumCPUs: 4,
		MemoryBytes: 8 << 30, NumNodes: 1, NodeType: "local", OutputDir: a.t.TempDir(),
	})
	return &testRunner{testAPI: a, id: r.RunnerID, run: r.RunID}
}

func (r *testRunner) request(change func(*lease.TurnRequest)) *lease.TurnRequest {
	r.turns++
	req := &lease.TurnRequest{Turn: r.turns, RunID: r.run, Free: lease.Free{
		Slots: 4, Nodes: []placement.FreeNode{{Name: "n1", CPUs: 4, MemoryBytes: 8 << 30}},
	}}
	if change != nil {
		change(req)
	}
	return req
}

func (r *testRunner) turn(change func(*lease.TurnRequest)) lease.TurnResponse {
	r.t.Helper()
	return post[lease.TurnResponse](r.testAPI, fmt.Sprintf("/runners/%d/turn", r.id), r.request(change))
}

// background sends a turn that waits, and delivers its answer.
func (r *testRunner) background(ctx context.Context, change func(*lease.TurnRequest)) <-chan answer {
	r.t.Helper()
	body, err := json.Marshal(r.request(change))
	if err != nil {
		r.t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(ctx, "POST", fmt.Sprintf("%s/runners/%d/turn", api.BasePath, r.id), strings.NewReader(string(body)))
	req.Header.Set("Content-Type", "application/json")
	done := make(chan answer, 1)
	go func() {
		defer func() { _ = recover() }() // http.ErrAbortHandler
		defer close(done)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		done <- answer{t: r.t, status: w.Code, header: w.Header(), text: w.Body.String()}
	}()
	return done
}

func receive(t *testing.T, c <-chan answer) answer {
	t.Helper()
	select {
	case a := <-c:
		return a
	case <-time.After(20 * time.Second):
		t.Fatal("no answer")
		panic("unreachable")
	}
}

func ok() workflow.Evidence {
	var zero int64
	return workflow.Evidence{ExitCode: &zero}
}

func TestRunnerRunsAWorkflowToItsEnd(t *testing.T) {
	a := newAPI(t)
	wf := a.workflow()
	a.jobs(wf, 3)
	r := a.runner(wf, "k1", 1)
	if again := a.runner(wf, "k1", 1); again.id != r.id {
		t.Errorf("the same key made runner %d and %d", r.id, again.id)
	}
	granted := r.turn(nil)
	if len(granted.Grants) != 3 || granted.OpenJobs != 3 {
		t.Fatalf("grants: %+v", granted)
	}
	// An answer that was lost: the leases are not listed, so they are granted again.
	again := r.turn(nil)
	if len(again.Grants) != 3 || again.Grants[0].LeaseRef != granted.Grants[0].LeaseRef {
		t.Fatalf("granted again: %+v", again.Grants)
	}
	report := func(req *lease.TurnRequest) {
		for _, g := range again.Grants {
			req.Reports = append(req.Reports, lease.Report{LeaseRef: g.LeaseRef, StartedMS: 1, EndedMS: 2, Evidence: ok()})
		}
	}
	end := r.turn(report)
	for _, result := range end.Results {
		if result.Outcome != lease.Accepted || result.Status != workflow.Completed {
			t.Errorf("result %+v", result)
		}
	}
	if !end.Complete || end.OpenJobs != 0 {
		t.Errorf("the workflow is not complete: %+v", end)
	}
	for _, result := range r.turn(report).Results {
		if result.Outcome != lease.Duplicate {
			t.Errorf("repeated report: %+v", result)
		}
	}
	post[lease.LeaveResponse](a, fmt.Sprintf("/runners/%d/leave", r.id), lease.LeaveRequest{Reason: "done"})
	if a.leases.any() {
		t.Error("a runner that left has a lease")
	}
}

func TestTurnWaitsForWork(t *testing.T) {
	a := newAPI(t)
	wf := a.workflow()
	a.must("POST", fmt.Sprintf("/workflows/%d/reset_status", wf), "")
	r := a.runner(wf, "k1", 1)
	id := a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id":%d,"name":"j","command":"true"}`, wf))["id"]
	waiting := r.background(t.Context(), func(req *lease.TurnRequest) { req.WaitSeconds = 10 })
	a.must("POST", fmt.Sprintf("/workflows/%d/initialize_jobs", wf), "")
	got := receive(t, waiting)
	got.want(http.StatusOK, fmt.Sprintf(`"job_id":%v`, id))
}

func TestANewerTurnEndsTheWait(t *testing.T) {
	a := newAPI(t)
	wf := a.workflow()
	a.jobs(wf, 1)
	busy := a.runner(wf, "busy", 1)
	busy.turn(nil) // takes the only job
	r := a.runner(wf, "k1", 2)
	waiting := r.background(t.Context(), func(req *lease.TurnRequest) { req.WaitSeconds = 10 })
	newer := r.turn(nil)
	if newer.Turn != 2 {
		t.Errorf("answer to turn %d", newer.Turn)
	}
	receive(t, waiting).want(http.StatusOK, `"turn":1`)
}

func TestCancelReachesAWaitingRunner(t *testing.T) {
	a := newAPI(t)
	wf := a.workflow()
	a.jobs(wf, 1)
	r := a.runner(wf, "k1", 1)
	held := r.turn(nil).Grants[0].LeaseRef
	waiting := r.background(t.Context(), func(req *lease.TurnRequest) {
		req.WaitSeconds, req.Free = 10, lease.Free{}
		req.Held = []lease.Held{{LeaseRef: held, StartedMS: 1}}
	})
	a.must("PUT", fmt.Sprintf("/workflows/%d/cancel", wf), "")
	receive(t, waiting).want(http.StatusOK, `"orders":["cancel"]`, `"canceled":true`)
}

func TestTurnOfAnUnknownRunner(t *testing.T) {
	a := newAPI(t)
	a.send("POST", "/runners/99/turn", `{"turn":1,"run_id":1,"free":{"slots":1}}`).want(http.StatusNotFound, "99")
	a.send("POST", "/runners/99/leave", `{"reason":"x","duration_seconds":1}`).want(http.StatusNotFound, "99")
	if a.leases.any() {
		t.Error("an unknown runner has a lease")
	}
}

// watch returns the watchdog of a server on the host of these tests' runners.
func (a *testAPI) watch(bootID string) (w *watchdog, ended *[]string) {
	w = newWatchdog(a.Server, make(chan int64, 1), DaemonOptions{})
	ended = &[]string{}
	w.host, w.bootID = "n1", bootID
	w.endLeftovers = func(dir string) error { *ended = append(*ended, dir); return nil }
	return w, ended
}

const noSuchPID = 1 << 30

func TestWatchdogGivesUpADeadRunner(t *testing.T) {
	a := newAPI(t)
	wf := a.workflow()
	a.jobs(wf, 2)
	r := a.runner(wf, "k1", noSuchPID)
	grants := r.turn(func(req *lease.TurnRequest) { req.Free.Slots = 2 }).Grants
	r.turn(func(req *lease.TurnRequest) {
		req.Held = []lease.Held{{LeaseRef: grants[0].LeaseRef, StartedMS: 1}, {LeaseRef: grants[1].LeaseRef}}
	})
	w, ended := a.watch("boot")
	w.checkRunners(t.Context())
	if !a.leases.any() || len(*ended) != 0 {
		t.Fatal("a runner that has just called was expired")
	}
	// Its connection breaks: the check finds no such process.
	ctx, cancel := context.WithCancel(t.Context())
	waiting := r.background(ctx, func(req *lease.TurnRequest) {
		req.WaitSeconds, req.Free = 10, lease.Free{}
		req.Held = []lease.Held{{LeaseRef: grants[0].LeaseRef, StartedMS: 1}, {LeaseRef: grants[1].LeaseRef}}
	})
	cancel()
	<-waiting
	select {
	case <-a.startNeeded:
	case <-time.After(20 * time.Second):
		t.Fatal("the watchdog was not woken")
	}
	w.checkRunners(t.Context())
	if a.leases.any() || len(*ended) != 1 {
		t.Errorf("expired: %v, leftovers ended in %v", !a.leases.any(), *ended)
	}
	// One job had begun: lost, and retried by the default policy. One had not.
	next := a.runner(wf, "k2", 1).turn(nil).Grants
	attempts := map[int64]int64{}
	for _, g := range next {
		attempts[g.JobID] = g.Attempt
	}
	if len(next) != 2 || attempts[grants[0].JobID] != 2 || attempts[grants[1].JobID] != 1 {
		t.Errorf("granted to the next runner: %+v", next)
	}
	late := r.turn(func(req *lease.TurnRequest) {
		req.Reports = []lease.Report{{LeaseRef: grants[0].LeaseRef, StartedMS: 1, EndedMS: 2, Evidence: ok()}}
	})
	if late.Results[0].Outcome != lease.Late || len(late.Orders) != 1 || late.Orders[0] != lease.OrderStop {
		t.Errorf("the dead runner calls: %+v", late)
	}
}

// TestTurnWhileADeadRunnerIsCleanedUp: ending what a dead runner left running takes
// time, during which another one may call.
func TestTurnWhileADeadRunnerIsCleanedUp(t *testing.T) {
	a := newAPI(t)
	wf := a.workflow()
	a.runner(wf, "dead", noSuchPID)
	elsewhere := post[lease.RegisterResponse](a, fmt.Sprintf("/workflows/%d/runners", wf), lease.RegisterRequest{
		Key: "elsewhere", Hostname: "n2", PID: 7, BootID: "other", StartTime: "2026-11-21T10:00:00Z", NumCPUs: 4, MemoryBytes: 8 << 30, NumNodes: 1, NodeType: "local",
	})
	w, _ := a.watch("boot")
	later := time.Now().Add(heartbeatTimeout + time.Minute)
	w.now = func() time.Time { return later }
	w.endLeftovers = func(string) error {
		a.leases.Renew(elsewhere.RunnerID, 1, later)
		return nil
	}
	w.checkRunners(t.Context())
	live, err := a.Store.Runners.Live(t.Context())
	if err != nil || len(live) != 1 || live[0].ID != elsewhere.RunnerID {
		t.Errorf("live are %+v, %v", live, err)
	}
}

func TestWatchdogKnowsTheDead(t *testing.T) {
	a := newAPI(t)
	wf := a.workflow()
	const self = 1 // an existing process
	for _, c := range []struct {
		name    string
		boot    string
		host    string
		pid     int64
		silence time.Duration
		dead    bool
	}{
		{"alive and silent, as when stopped", "boot", "n1", self, 24 * time.Hour, false},
		{"gone", "boot", "n1", noSuchPID, time.Second, true},
		{"rebooted", "other", "n1", self, time.Second, true},
		{"elsewhere", "boot", "n2", noSuchPID, time.Minute, false},
		{"elsewhere, for long", "boot", "n2", noSuchPID, heartbeatTimeout + time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := a.runner(wf, c.name, c.pid)
			runners, err := a.Store.Runners.Live(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w, _ := a.watch(c.boot)
			w.host = c.host
			for _, live := range runners {
				if live.ID != r.id {
					continue
				}
				if why, dead := w.isDead(live, c.silence, heartbeatTimeout); dead != c.dead || dead && why == "" {
					t.Errorf("dead %v, %q", dead, why)
				}
			}
		})
	}
}
