package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// requirements are for jobs of one, two and three CPUs.
const requirements = `resource_requirements:
  - {name: small, num_cpus: 1, memory: 100m, runtime: PT1M}
  - {name: wide, num_cpus: 2, memory: 100m, runtime: PT1M}
  - {name: wider, num_cpus: 3, memory: 100m, runtime: PT1M}
`

// failWhenTold has a job fail when the test says so.
const failWhenTold = `until [ -e fail ]; do sleep 0.2; done; exit 3`

// compensation returns the compensation of a workflow.
func (w *world) compensation(id int64) (c stage.Compensation, ok bool) {
	all, err := w.client.Workflows.Compensations(w.t.Context(), id)
	if err != nil || len(all) != 1 {
		return c, false
	}
	return all[0], true
}

// settleStages waits until a workflow has its verdict and all of its stages have ended;
// then it checks what settle does. A job without a wanted status must be completed.
func (w *world) settleStages(id int64, verdict workflow.EventType, want map[string]string) {
	w.t.Helper()
	w.eventually(patience, "all stages end", func() bool {
		stages, err := w.client.Workflows.Stages(w.t.Context(), id)
		return err == nil && len(stages) > 0 && !slices.ContainsFunc(stages, func(s api.Stage) bool { return s.State != stage.Ended }) &&
			len(w.events(id, verdict)) > 0
	})
	w.settleAllocations(id)
	if n := len(w.events(id, verdict)); n != 1 {
		w.t.Errorf("there are %d events %s", n, verdict)
	}
	for _, j := range w.allJobs(id) {
		status := "completed"
		if s, ok := want[j.Name]; ok {
			status = s
		}
		if j.Status.String() != status {
			w.t.Errorf("job %s is %s, want %s\n%s", j.Name, j.Status, status, w.why(*j.ID))
		}
	}
}

// order returns the jobs that have reported their end, in that order.
func (w *world) order() (names []string) {
	for _, line := range w.lines("journal") {
		if f := strings.Fields(line); f[0] == "end" {
			names = append(names, f[1])
		}
	}
	return names
}

// TestStages: the jobs of each stage have a different size, so that each stage needs an
// allocation, which is requested when its turn has come.
func TestStages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.write("child.yaml", "name: child\n"+requirements+`
end: {job: {command: ./job.sh 1}}
jobs:
  - {name: part, command: ./job.sh 2, resource_requirements: wide}
  - {name: merge, command: ./job.sh 1, depends_on: [part], resource_requirements: wide}
`, 0o644)
	id := w.submit(requirements + `
compute_node_wait_for_new_jobs_seconds: 0
end: {job: {command: './job.sh 1; cp "$TORC_END_JSON" end.json'}}
on_failure:
  timeout: PT5M
  jobs: [{name: tell, command: 'cp "$TORC_FAILED_WORKFLOW_JSON" failed.json; ./job.sh 1', resource_requirements: wider}]
jobs:
  - {name: reserve, command: ./job.sh 1, undo: ./job.sh 1, resource_requirements: small}
  - {name: child, workflow: child.yaml, depends_on: [reserve]}
  - {name: last, command: ./job.sh 1; exit 3, undo: ./job.sh 1, depends_on: [child], resource_requirements: small}
  - {name: never, command: ./job.sh 1, undo: ./job.sh 1, depends_on: [last], resource_requirements: small}
`)
	w.settleStages(id, workflow.EventWorkflowFailed, map[string]string{"last": "failed", "never": "canceled", "undo/never": "disabled"})
	want := []string{"reserve", "child/part", "child/merge", "child/end", "last", "end", "undo/last", "undo/reserve", "on_failure/tell"}
	if got := w.order(); !slices.Equal(got, want) {
		t.Errorf("the jobs ended in the order\n%q, want\n%q", got, want)
	}
	if c, _ := w.compensation(id); c.State != stage.CompensationCompleted {
		t.Errorf("the compensation: %+v", c)
	}
	var told struct{ Status, Reason string }
	w.readJSON("failed.json", &told)
	if told.Status != "failed" || told.Reason == "" {
		t.Errorf("the compensation was told %+v", told)
	}
	var end struct{ Verdict string }
	if w.readJSON("end.json", &end); end.Verdict != "failed" {
		t.Errorf("the end job was told %+v", end)
	}
	places := map[int64]bool{w.slurmJobOf("reserve"): true, w.slurmJobOf("child/part"): true, w.slurmJobOf("on_failure/tell"): true}
	if len(places) != 3 {
		t.Error("jobs of different sizes ran in the same allocation")
	}
}

// slurmJobOf returns the Slurm job in which a job has reported that it runs.
func (w *world) slurmJobOf(name string) (id int64) {
	w.t.Helper()
	for _, line := range w.lines("journal") {
		if f := strings.Fields(line); f[0] == "start" && f[1] == name {
			id, _ = strconv.ParseInt(f[5], 10, 64)
		}
	}
	if id == 0 {
		w.t.Fatalf("%s has not run", name)
	}
	return id
}

func (w *world) readJSON(name string, into any) {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		w.t.Errorf("%s: %v", name, err)
	}
}

// events returns the events of a type.
func (w *world) events(id int64, kind workflow.EventType) (all []api.Event) {
	for _, e := range collect(w.client.Events.List(w.t.Context(), client.EventFilter{WorkflowID: id})) {
		if e.EventType != nil && *e.EventType == string(kind) {
			all = append(all, e)
		}
	}
	return all
}

// runnerIn returns the process of the runner in a Slurm job.
func (w *world) runnerIn(slurmJob int64) int {
	w.t.Helper()
	for pid, command := range w.processes() {
		environ, err := os.ReadFile(filepath.Join("/proc", text(int64(pid)), "environ"))
		if err == nil && strings.Contains(command, " runner --endpoint") && strings.Contains(string(environ), fmt.Sprintf("\x00SLURM_JOB_ID=%d\x00", slurmJob)) {
			return pid
		}
	}
	w.t.Fatalf("there is no runner in Slurm job %d", slurmJob)
	return 0
}

// TestDaemonKilledBeforeCompensation: the run has failed, and its jobs are to be undone
// once the last runner has confirmed that nothing of the run is left. The daemon is
// killed before that confirmation, and again while the undo runs.
func TestDaemonKilledBeforeCompensation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t), "heartbeat_timeout_secs=120")
	w.maxCalls = usualCalls + 30 // two more daemons query what the cluster offers
	id := w.submit(requirements + `
compute_node_wait_for_new_jobs_seconds: 60
slurm_schedulers:
  - {name: a, account: research, partition: debug, mem: 300M, nodes: 1, walltime: "00:10:00"}
  - {name: b, account: research, partition: debug, mem: 300M, nodes: 1, walltime: "00:10:00"}
on_failure: {timeout: PT5M, jobs: [{name: tell, command: ./job.sh 1, resource_requirements: small}]}
jobs:
  - {name: first, command: './job.sh 1; ` + failWhenTold + `', undo: ./job.sh 5, scheduler: a, resource_requirements: small}
  - {name: second, command: ./job.sh 3, undo: ./job.sh 1, scheduler: b, resource_requirements: small}
actions:
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: a, scheduler_type: slurm}
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: b, scheduler_type: slurm}
`)
	w.eventually(patience, "the second job ends while the first runs", func() bool {
		return w.hasStatus(id, "first", "running") && slices.Contains(w.order(), "second") && w.hasStatus(id, "second", "completed")
	})
	stopped := w.runnerIn(w.slurmJobOf("second"))
	w.signal(stopped, syscall.SIGSTOP)
	w.waitFor(12*time.Second, "its last request has been answered")
	w.write("fail", "", 0o644)
	w.eventually(time.Minute, "the run has failed", func() bool { return len(w.events(id, workflow.EventWorkflowFailed)) > 0 })
	w.killDaemon()
	if c := w.begun("undo/"); c != 0 {
		t.Errorf("%d undos began before all runners had left the run", c)
	}
	w.startDaemon()
	if c, ok := w.compensation(id); !ok || c.State != stage.CompensationWaiting {
		t.Errorf("the compensation does not wait: %+v", c)
	}
	w.signal(stopped, syscall.SIGCONT)
	w.eventually(time.Minute, "an undo runs", func() bool { return w.begun("undo/") > 0 })
	w.killDaemon()
	w.startDaemon()
	w.settleStages(id, workflow.EventWorkflowFailed, map[string]string{"first": "failed"})
	w.expectOneAttempt(id)
	if c, _ := w.compensation(id); c.State != stage.CompensationCompleted {
		t.Errorf("the compensation: %+v", c)
	}
}

// begun returns how many jobs whose names have a prefix have reported their start.
func (w *world) begun(prefix string) (n int) {
	for _, line := range w.lines("journal") {
		if strings.HasPrefix(line, "start "+prefix) {
			n++
		}
	}
	return n
}

// hasStatus reports whether a job has a status.
func (w *world) hasStatus(id int64, name, status string) bool {
	return slices.ContainsFunc(w.jobs(id), func(j api.Job) bool { return j.Name == name && j.Status.String() == status })
}

// TestUndoPreempted: a job that undoes another one is preempted. It is repeated once
// Slurm has ended it.
func TestUndoPreempted(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct {
		partition, node string
		settings        []string
	}{
		"Canceled": {"scavenge", "n3", nil}, "Requeued": {"standby", "n1", []string{"requeue=true", "poll_interval_secs=600"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, slurmtest.UseReal(t), how.settings...)
			w.undoPreempted(how.partition, how.node)
		})
	}
}

func (w *world) undoPreempted(partition, node string) {
	t := w.t
	id := w.submit(shape(partition, node, 10*time.Minute) + requirements + `
compute_node_wait_for_new_jobs_seconds: 0
on_failure: {timeout: PT10M, max_attempts: 1}
jobs: [{name: job, command: ./job.sh 1; exit 3, undo: ./job.sh 25, resource_requirements: small}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`)
	w.eventually(patience, "the undo runs", func() bool { return w.begun("undo/") > 0 && w.hasStatus(id, "undo/job", "running") })
	before := w.slurmJobOf("undo/job")
	w.preempt(node, 4)
	if partition == "standby" {
		w.eventually(patience, "Slurm requeues the allocation", func() bool {
			return hasAllocation(w.allocations(id), func(a api.Allocation) bool { return a.SlurmJobID == before && a.RestartCount > 0 })
		})
	}
	w.settleStages(id, workflow.EventWorkflowFailed, map[string]string{"job": "failed"})
	if got := w.causes(id, "undo/job"); !strings.HasSuffix(got, " preempted, 1 ok") { // other tests preempt there, too
		t.Errorf("the attempts of the undo ended by %s", got)
	}
	if c, _ := w.compensation(id); c.State != stage.CompensationCompleted {
		t.Errorf("the compensation: %+v", c)
	}
}
