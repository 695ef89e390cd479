package slurmtest_test

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestAdmin does to running jobs what administrators and kernels do.
func TestAdmin(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		action func(c *slurmtest.Cluster, id slurm.JobID)
		state  slurm.State // ten seconds later
		last   slurm.State // of its first restart in accounting
	}{
		"preempt":        {[]string{"--partition=standby"}, (*slurmtest.Cluster).Preempt, slurm.Pending, slurm.Preempted},
		"preempt cancel": {[]string{"--partition=scavenge"}, (*slurmtest.Cluster).Preempt, slurm.Preempted, slurm.Preempted},
		"out of memory":  {nil, (*slurmtest.Cluster).OutOfMemory, slurm.OutOfMemory, slurm.OutOfMemory},
		"suspend":        {nil, (*slurmtest.Cluster).Suspend, slurm.Suspended, slurm.Suspended},
		"requeue":        {nil, (*slurmtest.Cluster).Requeue, slurm.Pending, slurm.Requeued},
		"down":           {nil, func(c *slurmtest.Cluster, _ slurm.JobID) { c.DownNode("n1", "test") }, slurm.Pending, slurm.NodeFail},
		"drain":          {nil, func(c *slurmtest.Cluster, _ slurm.JobID) { c.DrainNode("n1", "test") }, slurm.Running, slurm.Running},
		"cancel":         {nil, func(c *slurmtest.Cluster, id slurm.JobID) { c.CancelAs(0, id) }, slurm.Cancelled, slurm.Cancelled},
	} {
		c, client, clock := virtual(t, slurmtest.Options{})
		id, err := submit(t, client, "sleep 300", append(tc.args, "-t10")...)
		if err != nil {
			t.Fatal(err)
		}
		tc.action(c, id)
		step(clock, c, 10*time.Second)
		queue, err := client.Queue(t.Context(), slurm.QueueQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if job, _ := queue.Find(id); job.State != tc.state {
			t.Errorf("%s: %+v", name, job)
		}
		records, err := client.Accounting(t.Context(), slurm.AccountingQuery{IDs: []slurm.JobID{id}, Duplicates: true})
		if err != nil {
			t.Fatal(err)
		}
		if restarts := records.Restarts(id); len(restarts) == 0 || restarts[0].State != tc.last {
			t.Errorf("%s: %+v", name, restarts)
		}
	}
}

// TestCancelRequeued: a job that is cancelled between two restarts ends as cancelled, and
// its first restart keeps its end.
func TestCancelRequeued(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{})
	id, err := submit(t, client, "sleep 300")
	if err != nil {
		t.Fatal(err)
	}
	c.Requeue(id)
	step(clock, c, 10*time.Second)
	if err := client.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	records, err := client.Accounting(t.Context(), slurm.AccountingQuery{IDs: []slurm.JobID{id}, Duplicates: true})
	if err != nil {
		t.Fatal(err)
	}
	restarts := records.Restarts(id)
	if len(restarts) != 2 || restarts[0].State != slurm.Requeued || restarts[1].State != slurm.Cancelled || restarts[1].Started() {
		t.Errorf("%+v", restarts)
	}
	if detail, _, err := client.ShowJob(t.Context(), id); err != nil || detail.State != slurm.Cancelled || detail.NodeList != "" {
		t.Errorf("%+v, %v", detail, err)
	}
}

// TestDrained: no job starts on a drained node, and sinfo says why.
func TestDrained(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{})
	c.DrainNode("n1", "bad disk")
	id, err := submit(t, client, "sleep 300", "--nodelist=n1")
	if err != nil {
		t.Fatal(err)
	}
	step(clock, c, time.Second)
	if detail, _, err := client.ShowJob(t.Context(), id); err != nil || detail.State != slurm.Pending || detail.Reason != "ReqNodeNotAvail, UnavailableNodes:n1" {
		t.Errorf("%+v, %v", detail, err)
	}
	groups, err := client.Nodes(t.Context())
	if err != nil || groups[0].Usable() || groups[0].State != "drained" || groups[0].Reason != "bad disk" || !groups[1].Usable() {
		t.Errorf("%+v, %v", groups, err)
	}
	c.RestoreNode("n1")
	if detail, _, err := client.ShowJob(t.Context(), id); err != nil || detail.State != slurm.Running {
		t.Errorf("%+v, %v", detail, err)
	}
}

// TestSuspendedTime does not count against the limit.
func TestSuspendedTime(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{})
	id, err := submit(t, client, "sleep 50", "-t1")
	if err != nil {
		t.Fatal(err)
	}
	step(clock, c, 10*time.Second)
	c.Suspend(id)
	step(clock, c, 10*time.Minute)
	c.Resume(id)
	step(clock, c, 45*time.Second)
	if detail, _, err := client.ShowJob(t.Context(), id); err != nil || detail.State != slurm.Completed {
		t.Errorf("%+v, %v", detail, err)
	}
}

// TestSteps: what a launcher reports about its steps is in accounting.
func TestSteps(t *testing.T) {
	launch := func(_ *slurmtest.Cluster, r *slurmtest.Restart) slurmtest.Process {
		n := r.StepStarted("wf1_j2")
		r.StepEnded(n, slurm.OutOfMemory, slurm.ExitCode{Signal: 125})
		r.StepStarted("wf1_j3")
		return signalFunc(func(string, slurmtest.Target) { r.Exit(slurm.ExitCode{Signal: 9}) })
	}
	_, client, _ := virtual(t, slurmtest.Options{Launch: launch})
	id, err := submit(t, client, "")
	if err != nil {
		t.Fatal(err)
	}
	records, err := client.Accounting(t.Context(), slurm.AccountingQuery{IDs: []slurm.JobID{id}})
	if err != nil {
		t.Fatal(err)
	}
	steps := records.Steps(id)
	if len(steps) != 3 || steps[1].Name != "wf1_j2" || steps[1].State != slurm.OutOfMemory || steps[2].State != slurm.Running {
		t.Errorf("%+v", steps)
	}
}
