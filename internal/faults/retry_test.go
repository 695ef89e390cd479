package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// attempts returns the attempts of a job, by its name.
func (w *world) attempts(id int64, name string) []api.Attempt {
	w.t.Helper()
	all := w.allJobs(id)
	i := slices.IndexFunc(all, func(j api.Job) bool { return j.Name == name })
	if i < 0 {
		w.t.Fatalf("there is no job %s", name)
	}
	attempts, err := w.client.Jobs.Attempts(w.t.Context(), *all[i].ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return attempts
}

// causes returns how the attempts of a job ended; consecutive ones that are alike are
// counted.
func (w *world) causes(id int64, name string) string {
	var words []string
	n := 0
	for i, all := 0, w.attempts(id, name); i < len(all); i++ {
		if n++; i+1 == len(all) || all[i+1].Cause != all[i].Cause {
			words = append(words, fmt.Sprintf("%d %s", n, all[i].Cause))
			n = 0
		}
	}
	return strings.Join(words, ", ")
}

// timesPreempted is how often the job of TestPreemptedThenOutOfMemory is preempted.
const timesPreempted = 10

// TestPreemptedThenOutOfMemory: preemptions of a job use none of the retries that it has
// for its own failures.
func TestPreemptedThenOutOfMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memoryLimited(t))
	w.maxCalls = usualCalls + 6*timesPreempted // another sbatch, and polls of what ended
	id := w.submit("execution_config: {mode: slurm}\n" + shape("scavenge", "", 10*time.Minute) + fmt.Sprintf(`
compute_node_wait_for_new_jobs_seconds: 0
resource_requirements: [{name: small, num_cpus: 1, memory: 100m, runtime: PT5M}]
retry_policies:
  - {name: resources, rules: [{id: oom, when: {cause: [oom]}, action: retry, limit: 3, mutate: {memory: {factor: 10}}}]}
jobs: [{name: job, command: 'if ((TORC_ATTEMPT_ID <= %d)); then ./job.sh 300; else HOG=300m ./job.sh 1 hog; fi', resource_requirements: small}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`, timesPreempted))
	for i := range timesPreempted {
		var node string
		w.eventually(patience, fmt.Sprintf("attempt %d runs", i+1), func() bool {
			all := w.attempts(id, "job")
			live := w.allocations(id)
			last := live[len(live)-1]
			node = last.NodeList
			return len(all) == i+1 && all[i].EndedMS == nil && len(w.lines("journal")) == i+1 && node != "" && last.State == "active"
		})
		w.preempt(node, 1)
	}
	w.settle(id, nil)
	got := w.causes(id, "job")
	preempted := timesPreempted // or more, by the jobs of other tests
	for preempted < 2*timesPreempted && got != fmt.Sprintf("%d preempted, 1 oom, 1 ok", preempted) {
		preempted++
	}
	if preempted == 2*timesPreempted {
		t.Errorf("the attempts ended by %s, want %d preempted or more, 1 oom, 1 ok", got, timesPreempted)
	}
	w.expectWhy(id, "job", "resources/oom: 1 of 3", fmt.Sprintf("default/preempted: %d of 50 free", preempted), "memory 100m -> 1000m")
}

// awaitBothNodes waits until jobs run on two nodes, for a minute at most.
const awaitBothNodes = `touch "on-$SLURMD_NODENAME"; for ((k = 0; k < 600; k++)); do there=(on-*); ((${#there[@]} > 1)) && break; sleep 0.1; done; `

// failOnFirstNode is jobs that fail on the node where the first of them ran, after some command.
func failOnFirstNode(first string) string {
	return `
compute_node_wait_for_new_jobs_seconds: 0
resource_requirements: [{name: small, num_cpus: 1, memory: 100m, runtime: PT30S}]
retry_policies:
  - {name: nodes, rules: [{id: io, when: {exit_code: {in: [74]}}, action: retry, limit: 3, avoid_nodes: {mode: last}}]}
parameters: {i: "1:4"}
jobs: [{name: "job{i}", command: '` + first + `sleep 1; (set -C; echo "$SLURMD_NODENAME" >bad) 2>/dev/null; [ "$SLURMD_NODENAME" != "$(<bad)" ] || exit 74; sleep 4', resource_requirements: small, use_parameters: [i]}]
`
}

// expectAvoided checks that everything that failed on the bad node ran on another one, as
// its second attempt.
func (w *world) expectAvoided(id int64) (bad string) {
	w.t.Helper()
	bad = w.lines("bad")[0]
	repeated := 0
	for _, j := range w.allJobs(id) {
		all := w.attempts(id, j.Name)
		if len(all) > 1 {
			repeated++
		}
		if last := all[len(all)-1]; len(all) > 2 || last.Node == bad || len(all) == 2 && all[0].Node != bad {
			w.t.Errorf("%s is the bad node, and %s had these attempts:\n%s", bad, j.Name, w.why(*j.ID))
		}
	}
	if repeated == 0 {
		w.t.Error("no job had to be repeated")
	}
	return bad
}

// TestBadNodeLive: there are two allocations, on two nodes. What fails on one runs on the
// other, and no further one is requested.
func TestBadNodeLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(failOnFirstNode(awaitBothNodes) + `
slurm_schedulers:
  - {name: a, account: research, partition: debug, mem: 700M, nodes: 1, walltime: "00:10:00", extra: --cpus-per-task=2 --nodelist=n2}
  - {name: b, account: research, partition: debug, mem: 700M, nodes: 1, walltime: "00:10:00", extra: --cpus-per-task=2 --nodelist=n3}
actions:
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: a, scheduler_type: slurm}
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: b, scheduler_type: slurm}
`)
	w.settle(id, nil)
	w.expectAvoided(id)
	w.expectSubmissions(2)
}

// TestBadNodeNew: the only allocation is on the bad node, and another one is requested
// that is not.
func TestBadNodeNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "", 10*time.Minute) + failOnFirstNode("") +
		"actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]\n")
	w.settle(id, nil)
	bad := w.expectAvoided(id)
	// An allocation that has left before another job fails cannot run it, on a slow machine.
	if n := w.submissions(); n < 2 || n > 1+len(w.allJobs(id)) {
		w.t.Errorf("sbatch was called %d times, want 2, or once for each repeated job", n)
	}
	last := w.allocations(id)[1]
	show := slurm.Command{Program: slurm.Scontrol, Args: []string{"show", "job", text(last.SlurmJobID)}}
	out, err := w.real.Root().Run(t.Context(), show)
	if err != nil || !strings.Contains(string(out.Stdout), "ExcNodeList="+bad) {
		t.Errorf("the second allocation does not exclude %s: %v\n%s", bad, err, out.Stdout)
	}
}

// TestOutgrown: a job that needs more time gets it in a partition that allows it, and a
// job that needs more than any partition allows fails at once.
func TestOutgrown(t *testing.T) {
	w := newWorldWithoutDaemon(t, slurmtest.UseRealAlone(t))
	w.admin("create", "PartitionName=brief", "Nodes=ALL", "MaxTime=5", "PriorityTier=10", "PreemptMode=OFF")
	t.Cleanup(func() { w.admin("delete", "PartitionName=brief") })
	w.startDaemon()
	id := w.submit(`
compute_node_wait_for_new_jobs_seconds: 0
resource_requirements:
  - {name: small, num_cpus: 1, memory: 100m, runtime: PT1M}
retry_policies:
  - {name: time, rules: [{id: time, when: {cause: [timeout]}, action: retry, limit: 2, mutate: {runtime: {factor: 10}}}]}
jobs:
  - {name: longer, command: '((TORC_ATTEMPT_ID > 1)) || ./job.sh 300', resource_requirements: small, timeouts: {run: {after: PT4S, grace: PT1S, policy: retry}}}
  - name: endless
    command: ./job.sh 300
    resource_requirements: small
    timeouts: {run: {after: PT4S, grace: PT1S, policy: retry}}
    retry_policies: [{name: own, rules: [{id: time, when: {cause: [timeout]}, action: retry, mutate: {runtime: {factor: 10000}}}]}]
  - name: huge
    command: exit 9
    resource_requirements: small
    retry_policies: [{name: own, rules: [{id: memory, when: {exit_code: {in: [9]}}, action: retry, mutate: {memory: {factor: 1000}}}]}]
`)
	w.settle(id, map[string]string{"endless": "terminated", "huge": "failed"})
	var partitions []string
	for _, a := range w.allocations(id) {
		partitions = append(partitions, a.Partition)
	}
	if want := []string{"brief", "debug"}; !slices.Equal(partitions, want) {
		t.Errorf("the allocations are in %q, want %q", partitions, want)
	}
	if got, want := w.causes(id, "longer"), "1 timeout, 1 ok"; got != want {
		t.Errorf("the attempts ended by %s, want %s", got, want)
	}
	w.expectWhy(id, "endless", "fit nowhere: fits no partition", "runtime: needs 6d22h40m")
	w.expectWhy(id, "huge", "fit nowhere: fits no partition", "largest node has")
	for _, name := range []string{"endless", "huge"} {
		if n := len(w.attempts(id, name)); n != 1 {
			t.Errorf("%s had %d attempts", name, n)
		}
	}
}

// TestRetriesAreStopped: in the midst of many failures, retries are switched off. The run
// ends with what is still running.
func TestRetriesAreStopped(t *testing.T) {
	t.Parallel()
	const jobs = 200
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "", 10*time.Minute) + fmt.Sprintf(`
compute_node_wait_for_new_jobs_seconds: 0
resource_requirements: [{name: small, num_cpus: 1, memory: 10m, runtime: PT5S}]
retry_policies: [{name: storm, rules: [{id: any, when: {cause: [exit]}, action: retry, limit: 20}]}]
parameters: {i: "1:%d"}
jobs: [{name: "job{i}", command: exit 3, resource_requirements: small, use_parameters: [i]}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`, jobs))
	w.eventually(patience, "many jobs have failed", func() bool {
		return len(collect(w.client.Results.List(t.Context(), client.ResultFilter{WorkflowID: id}))) > jobs/2
	})
	w.run("retry-policy", "settings", "--global-max-retries", "0")
	stopped := time.Now().UnixMilli()
	want := map[string]string{}
	for _, j := range w.allJobs(id) {
		want[j.Name] = "failed"
	}
	w.settle(id, want)
	granted, refused := 0, 0
	for name := range want {
		for _, a := range w.attempts(id, name) {
			switch {
			case a.Cause != "exit" || a.Rule != "storm/any":
				t.Errorf("an attempt of %s ended by %s, decided by %q", name, a.Cause, a.Rule)
			case a.Decision != "retry":
				refused++
			case *a.EndedMS > stopped:
				t.Errorf("%s was granted a retry after retries had been switched off: %s", name, a.Reason)
			default:
				granted++
			}
		}
	}
	if refused != jobs || granted == 0 {
		t.Errorf("%d retries were granted and %d denied, want some and %d", granted, refused, jobs)
	}
	t.Logf("%d retries were granted, then none; the rest took %v", granted, time.Since(time.UnixMilli(stopped)).Round(time.Second))
}
