package faults

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// collect reads a list of the daemon; it is empty while the daemon is down.
func collect[T any](all iter.Seq2[T, error]) []T {
	items, err := client.Collect(all)
	if err != nil {
		return nil
	}
	return items
}

func (w *world) jobs(id int64) []api.Job {
	return collect(w.client.Jobs.List(context.WithoutCancel(w.t.Context()), client.JobFilter{WorkflowID: id}))
}

// allJobs returns the jobs of a workflow once its daemon answers and there are some.
func (w *world) allJobs(id int64) []api.Job {
	w.t.Helper()
	jobs := w.jobs(id)
	if len(jobs) == 0 {
		w.t.Fatalf("the daemon does not return the jobs of workflow %d", id)
	}
	return jobs
}

func (w *world) allocations(id int64) []api.Allocation {
	return collect(w.client.Allocations.List(context.WithoutCancel(w.t.Context()), client.AllocationFilter{WorkflowID: id}))
}

// progress describes the state of the jobs and allocations of a workflow for failure
// messages.
func (w *world) progress(id int64) string {
	var b strings.Builder
	for _, j := range w.jobs(id) {
		fmt.Fprintf(&b, "%s is %s\n", j.Name, j.Status)
	}
	for _, a := range w.allocations(id) {
		fmt.Fprintf(&b, "allocation %d, Slurm job %d: %s %s %s\n", a.ID, a.SlurmJobID, a.State, a.Cause, a.CauseText)
	}
	if e, err := w.client.Workflows.Why(context.WithoutCancel(w.t.Context()), id); err == nil {
		b.WriteString(e.String())
	}
	return b.String()
}

func (w *world) allocation(id int64) *api.Allocation {
	w.t.Helper()
	a, err := w.client.Allocations.Get(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// running returns the jobs that have reported their start but not their end.
func (w *world) running() (names []string) {
	for _, line := range w.lines("journal") {
		f := strings.Fields(line)
		names = slices.DeleteFunc(names, func(n string) bool { return n == f[1] })
		if f[0] == "start" {
			names = append(names, f[1])
		}
	}
	return names
}

// waitFor waits for a time during which a fault lasts.
func (w *world) waitFor(d time.Duration, what string) {
	w.t.Helper()
	began := time.Now()
	w.eventually(d+time.Minute, what, func() bool { return time.Since(began) >= d })
}

// untilRunning waits until n jobs run, and returns their allocation.
func (w *world) untilRunning(id int64, n int) api.Allocation {
	w.t.Helper()
	w.eventually(patience, fmt.Sprintf("%d jobs run", n), func() bool {
		known := 0 // to the daemon
		for _, j := range w.jobs(id) {
			if *j.Status == workflow.Running {
				known++
			}
		}
		return len(w.running()) >= n && known >= n
	})
	var live []api.Allocation
	w.eventually(time.Minute, "an allocation is active", func() bool {
		live = slices.DeleteFunc(w.allocations(id), func(a api.Allocation) bool { return a.State != "active" })
		return len(live) > 0
	})
	return live[0]
}

// settle waits until a workflow has ended and its allocations are gone, and checks what
// must hold then. The jobs must have the wanted statuses, by their names; all others must
// be completed.
func (w *world) settle(id int64, want map[string]string) {
	w.t.Helper()
	w.eventually(patience, "all jobs end", func() bool {
		jobs := w.jobs(id)
		return len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j api.Job) bool { return !j.Status.IsComplete() })
	})
	ended := time.Now()
	w.settleAllocations(id)
	w.t.Logf("all jobs had ended after %v", ended.Sub(w.began).Round(time.Second))
	w.checkJobs(id, want)
}

// settleAllocations waits until the allocations of a workflow are gone, and checks what
// must hold then for any workflow.
func (w *world) settleAllocations(id int64) {
	w.t.Helper()
	w.eventually(patience, "all allocations end", func() bool {
		all := w.allocations(id)
		return len(all) > 0 && !slices.ContainsFunc(all, func(a api.Allocation) bool { return a.State != "ended" })
	})
	w.t.Logf("all allocations had ended after %v", time.Since(w.began).Round(time.Second))
	for _, a := range w.allocations(id) {
		w.t.Logf("allocation %d (Slurm job %d, start %d) on %s: %s (%s): %s", a.ID, a.SlurmJobID, a.RestartCount, a.NodeList, a.Cause, a.Confidence, a.CauseText)
	}
	w.checkJournal()
	w.checkGone()
	w.checkCalls()
	findings, err := check.Deep(w.t.Context(), w.path("home", "torc.db"), check.Witness{})
	for _, f := range findings {
		w.t.Errorf("the database: %s", f)
	}
	if err != nil {
		w.t.Error(err)
	}
}

// checkJobs checks that each job has exactly one final record, and the wanted status.
func (w *world) checkJobs(id int64, want map[string]string) {
	w.t.Helper()
	results := collect(w.client.Results.List(w.t.Context(), client.ResultFilter{WorkflowID: id, AllRuns: true}))
	records := map[string]int{}
	for _, r := range results {
		records[fmt.Sprintf("job %d, run %d, attempt %d", r.JobID, r.RunID, *r.AttemptID)]++
	}
	for key, n := range records {
		if n != 1 {
			w.t.Errorf("%s has %d records", key, n)
		}
	}
	final := map[int64]int{}
	for _, r := range collect(w.client.Results.List(w.t.Context(), client.ResultFilter{WorkflowID: id})) {
		final[r.JobID]++
	}
	for _, j := range w.allJobs(id) {
		status := "completed"
		if s, ok := want[j.Name]; ok {
			status = s
		}
		if j.Status.String() != status || final[*j.ID] != 1 {
			w.t.Errorf("job %s is %s with %d final records, want %s and one\n%s", j.Name, j.Status, final[*j.ID], status, w.why(*j.ID))
		}
	}
}

// why returns what `why` prints about a job.
func (w *world) why(job int64) string {
	e, err := w.client.Jobs.Why(w.t.Context(), job)
	if err != nil {
		return err.Error()
	}
	return e.String()
}

// expectWhy checks what `why` prints about a job, by its name.
func (w *world) expectWhy(id int64, name string, parts ...string) {
	w.t.Helper()
	for _, j := range w.jobs(id) {
		if j.Name != name {
			continue
		}
		text := w.why(*j.ID)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				w.t.Errorf("why does not say %q about %s:\n%s", part, name, text)
			}
		}
		return
	}
	w.t.Errorf("there is no job %s", name)
}

// checkJournal checks that no job ran twice at the same time, and no attempt twice.
func (w *world) checkJournal() {
	w.t.Helper()
	begun := map[string]int{}
	for _, line := range w.lines("journal") {
		f := strings.Fields(line)
		switch f[0] {
		case "TWICE":
			w.t.Errorf("ran twice at the same time: %s", line)
		case "start":
			begun[fmt.Sprintf("%s (job %s), attempt %s", f[1], f[6], f[2])]++ // several workflows may have a job of that name
		}
	}
	for attempt, n := range begun {
		if n != 1 {
			w.t.Errorf("%s began %d times", attempt, n)
		}
	}
	locks, err := filepath.Glob(w.path("lock", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range locks {
		f, err := os.Open(path)
		if err != nil {
			w.t.Fatal(err)
		}
		w.eventually(time.Minute, "no process of the job is left that holds "+path, func() bool {
			return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
		})
		f.Close()
	}
}

// processes returns the command lines of processes that were started for this world,
// except the daemon.
func (w *world) processes() map[int]string {
	found := map[int]string{}
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range entries {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(environ, []byte("TORC_HOME="+w.path("home")+"\x00")) {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && len(cmdline) > 0 && pid != w.endpoint.PID {
			found[pid] = strings.ReplaceAll(string(cmdline), "\x00", " ")
		}
	}
	return found
}

// checkGone checks that no process and no Slurm job of this world is left.
func (w *world) checkGone() {
	w.t.Helper()
	var left map[int]string
	w.eventually(time.Minute, "no Slurm job is left", func() bool {
		queue, err := w.root.Queue(w.t.Context(), slurm.QueueQuery{User: slurmtest.TestUser})
		return err == nil && !slices.ContainsFunc(queue.Jobs, func(j slurm.Job) bool {
			return strings.HasPrefix(j.Name, "torc:"+w.name()+".") && !j.State.Over()
		})
	})
	deadline := time.Now().Add(time.Minute)
	w.eventually(2*time.Minute, "the processes are listed", func() bool {
		left = w.processes()
		// Slurm's programs may be running at any time; a batch script that is not a
		// runner belongs to the daemon.
		maps.DeleteFunc(left, func(_ int, cmd string) bool {
			return strings.Contains(cmd, w.path("bin")) || strings.HasPrefix(cmd, "/usr/bin/s") || strings.Contains(cmd, "/slurm_script")
		})
		return len(left) == 0 || time.Now().After(deadline)
	})
	for pid, cmd := range left {
		w.t.Errorf("process %d is left: %s", pid, cmd)
	}
}

// usualCalls is how many calls are allowed in a minute with the intervals of these tests,
// in which something is always about to end: polls every 1.5 s, some with one more query,
// and the first query of the site.
const usualCalls = 60

// checkCalls checks that Slurm was not called more often than the intervals allow.
func (w *world) checkCalls() {
	w.t.Helper()
	calls, counts, most := w.calls(), map[string]int{}, 0
	for i, c := range calls {
		counts[c.program]++
		j := i
		for j < len(calls) && calls[j].at.Sub(c.at) < time.Minute {
			j++
		}
		most = max(most, j-i)
	}
	if most > w.maxCalls {
		w.t.Errorf("%d calls of Slurm within a minute, want at most %d", most, w.maxCalls)
	}
	w.t.Logf("calls of Slurm in %v, %d within a minute at most: %v", time.Since(w.began).Round(time.Second), most, counts)
}
