package allocation

import (
	"bytes"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// TestJudgeNever: an allocation that never starts is canceled, one that is held or may
// start later is not.
func TestJudgeNever(t *testing.T) {
	for _, tc := range []struct {
		reason string
		never  time.Duration
		state  slurm.State
		change func(*compute.Allocation)
		cancel bool
	}{
		{"BadConstraints", 5 * time.Minute, slurm.Pending, nil, true},
		{"QOSMaxCpuPerJobLimit", time.Hour, slurm.Pending, nil, true},
		{"BadConstraints", 4 * time.Minute, slurm.Pending, nil, false},
		{"JobHeldUser", time.Hour, slurm.Pending, nil, false},
		{"JobHeldAdmin", time.Hour, slurm.Pending, nil, false},
		{"Resources", time.Hour, slurm.Pending, nil, false},
		{"AssocGrpCpuLimit", time.Hour, slurm.Pending, nil, false},
		{"BadConstraints", time.Hour, slurm.Running, nil, false},
		{"BadConstraints", time.Hour, slurm.Pending, canceling(time.Second, 1), false},
	} {
		a := record(pending)
		if tc.change != nil {
			tc.change(&a)
		}
		v := Judge(a, Facts{Queue: queued(tc.state, func(j *slurm.Job) { j.Reason = tc.reason }), NeverStarts: tc.never}, now, Settings{})
		if (v.Cancel != "") != tc.cancel || v.Refused != tc.cancel || v.End != nil {
			t.Errorf("%s (%s) for %s: %+v", tc.reason, tc.state, tc.never, v)
		}
	}
}

// TestNeverStarts: an allocation that Slurm accepted and will never start is canceled
// after some minutes, with Slurm's reason, and counts as permanently rejected.
func TestNeverStarts(t *testing.T) {
	w := newWorld(t, 1, func(o *slurmtest.Options) {
		o.Nodes = []slurmtest.Node{{Name: "n1", CPUs: 4, Memory: 4000 * slurm.MiB}}
	})
	w.settings.NoRunner = time.Hour
	w.boot(t.TempDir())
	w.submit() // takes the only node
	w.pollOnce()
	waiting := w.submit()
	reason := "JobHeldUser"
	w.cluster.Inject(slurmtest.Fault{Program: slurm.Squeue, Done: true, Answer: func(o slurm.Output) slurm.Output {
		for _, other := range []string{"Resources", "Priority"} {
			o.Stdout = bytes.ReplaceAll(o.Stdout, []byte(other), []byte(reason))
		}
		return o
	}})
	state := func() compute.Allocation {
		a, err := w.store.Allocations.Get(t.Context(), waiting.ID)
		w.must(err)
		return a
	}
	w.run(10 * time.Minute)
	if a := state(); a.SlurmReason != reason || a.CancelMS != 0 {
		t.Fatalf("held: %+v", a)
	}
	reason = "InvalidQOS"
	w.run(4 * time.Minute)
	if a := state(); a.CancelMS != 0 {
		t.Fatalf("too early: %s", a.CancelWhy)
	}
	w.run(4 * time.Minute)
	const why = "canceled: Slurm never starts it: its QOS is not valid (InvalidQOS)"
	if a := state(); a.Cause != compute.AllocationCanceled || a.Refusal != string(slurm.Permanent) || a.CauseText != why {
		t.Errorf("%+v", a)
	}
}
