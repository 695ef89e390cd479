package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/workflowtest"
)

// twin is a workflow in the store beside the same one in the reference engine.
type twin struct {
	*rig
	t     *rapid.T
	model workflowtest.Engine
	hands []*hand
	node  int64
}

// TestStatusesFollowTheReference has three runners, torc clients and operators do
// anything in any order, and compares the statuses after each step.
func TestStatusesFollowTheReference(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(t *rapid.T) {
		w := &twin{rig: r, t: t}
		w.start()
		t.Repeat(map[string]func(*rapid.T){
			"turn":     w.turn,
			"turn2":    w.turn, // the most frequent
			"expire":   w.expire,
			"complete": w.complete,
			"retry":    w.retry,
			"manage":   w.manage,
			"cancel":   w.cancel,
			"":         w.compare,
		})
	})
	r.sound(check.Witness{})
}

func (w *twin) start() {
	n := rapid.IntRange(1, 12).Draw(w.t, "jobs")
	jobs := make([]rigJob, n)
	w.model.Jobs = make([]workflowtest.Job, n)
	for i := range jobs {
		for d := range i {
			if rapid.IntRange(0, 3).Draw(w.t, "edge") == 0 {
				jobs[i].after = append(jobs[i].after, d)
			}
		}
		jobs[i].runIf = workflow.RunIf(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(w.t, "run_if"))
		w.model.Jobs[i] = workflowtest.Job{DependsOn: jobs[i].after, RunIf: jobs[i].runIf}
	}
	w.begin(jobs...)
	w.model.Initialize(false)
	for range 3 {
		w.hands = append(w.hands, w.hand("n1", 2))
	}
	w.node = w.rig.node("n2")
}

// apply applies to the model what was done to the store.
func (w *twin) apply(op workflow.Operation, job int64, to workflow.JobStatus) {
	if err := w.model.Apply(op, w.index(job), to); err != nil {
		w.t.Fatal(err)
	}
}

func (w *twin) index(job int64) int { return int(job - w.ids[0]) }

// holds reports whether a lease is valid, and not for a recovery.
func (w *twin) holds(h *hand, ref lease.LeaseRef) bool {
	return w.number(`SELECT COUNT(*) FROM job WHERE id = ? AND fence = ? AND attempt_id = ? AND compute_node_id = ? AND status IN (3, 4)`,
		ref.JobID, ref.Fence, ref.Attempt, h.id) == 1
}

// turn has a runner report some of its jobs, start some, return some, and request more.
func (w *twin) turn(t *rapid.T) {
	h := w.hands[rapid.IntRange(0, 2).Draw(t, "runner")]
	zero, one := int64(0), int64(1)
	ends := []workflow.Evidence{
		{ExitCode: &zero}, {ExitCode: &zero}, {ExitCode: &one}, {KilledBy: workflow.KilledByTimeout, Signal: 9},
		{KilledBy: workflow.KilledByDrain, Signal: 15}, {KilledBy: workflow.KilledByCancel, Signal: 15},
	}
	w.now = w.now.Add(time.Millisecond)
	now := w.now.UnixMilli()
	var said lease.TurnRequest
	var back, started []int64
	valid := map[lease.LeaseRef]bool{}
	for i := range h.held {
		held := &h.held[i]
		valid[held.LeaseRef] = w.holds(h, held.LeaseRef)
		switch k := rapid.IntRange(-3, len(ends)-1).Draw(t, "say"); {
		case k >= 0:
			said.Reports = append(said.Reports, lease.Report{LeaseRef: held.LeaseRef, StartedMS: now, EndedMS: now, Evidence: ends[k]})
		case k == -1 && held.StartedMS == 0:
			said.GiveBack = append(said.GiveBack, held.LeaseRef)
			if valid[held.LeaseRef] {
				back = append(back, held.JobID)
			}
		case k == -2 && held.StartedMS == 0:
			if held.StartedMS = now; valid[held.LeaseRef] {
				started = append(started, held.JobID)
			}
		}
	}
	h.free.Slots = rapid.Int64Range(0, 3).Draw(t, "slots")
	answer := h.say(said)
	h.drop(lease.TurnRequest{GiveBack: answer.Voided})
	for _, job := range back {
		w.apply(workflow.OpGiveBack, job, workflow.Ready)
	}
	for _, res := range answer.Results {
		switch {
		case res.Outcome != lease.Accepted || !valid[res.LeaseRef]:
		case res.Status == workflow.Ready:
			w.apply(workflow.OpRetry, res.JobID, workflow.Ready)
		default:
			w.apply(workflow.OpFinish, res.JobID, res.Status)
		}
	}
	for _, job := range started {
		w.apply(workflow.OpStart, job, workflow.Running)
	}
	for _, g := range answer.Grants {
		if err := w.model.Claim(w.index(g.JobID)); err != nil {
			t.Fatal(err)
		}
	}
}

// expire kills a runner; another one takes its place.
func (w *twin) expire(t *rapid.T) {
	i := rapid.IntRange(0, 2).Draw(t, "runner")
	h := w.hands[i]
	var held []lease.Held
	for _, l := range h.held {
		if w.holds(h, l.LeaseRef) {
			held = append(held, l)
		}
	}
	before := w.model.Statuses()
	w.must(w.Runners.Expire(w.ctx, h.id, "killed"))
	for _, l := range held {
		retried := w.number(`SELECT COUNT(*) FROM attempt WHERE job_id = ? AND attempt_id = ? AND action = 'retry'`, l.JobID, l.Attempt) == 1
		switch {
		case before[w.index(l.JobID)] == workflow.Pending:
			w.apply(workflow.OpGiveBack, l.JobID, workflow.Ready)
		case retried:
			w.apply(workflow.OpRetry, l.JobID, workflow.Ready)
		default:
			w.apply(workflow.OpFinish, l.JobID, workflow.Failed)
		}
	}
	w.hands[i] = w.hand("n1", 2)
}

func (w *twin) anyJob(t *rapid.T) int { return rapid.IntRange(0, len(w.ids)-1).Draw(t, "job") }

// accepts compares whether the store and the reference accept an operation.
func (w *twin) accepts(err, want error) {
	if (err == nil) != (want == nil) {
		w.t.Fatalf("the store says %v, the reference %v", err, want)
	}
}

// complete is a torc client's report about any job.
func (w *twin) complete(t *rapid.T) {
	i := w.anyJob(t)
	to := rapid.SampledFrom([]workflow.JobStatus{workflow.Completed, workflow.Failed, workflow.Canceled, workflow.Terminated, workflow.PendingFailed}).Draw(t, "status")
	c := w.completion(i, w.node, to, 1)
	c.Result.AttemptID = w.number(`SELECT attempt_id FROM job WHERE id = ?`, w.ids[i])
	c.Result.CompletionTime = "" // never the same report again
	_, _, err := w.Jobs.CompleteBatch(w.ctx, w.workflow, []Completion{c})
	w.must(err)
	if workflow.CanTransition(w.model.Jobs[i].Status, to, workflow.OpComplete) {
		w.apply(workflow.OpComplete, c.JobID, to)
	}
}

func (w *twin) retry(t *rapid.T) {
	i := w.anyJob(t)
	_, err := w.Jobs.Retry(w.ctx, w.ids[i], 1, 1000)
	if w.model.Jobs[i].Status == workflow.Pending {
		wantCode(w.tb.(*testing.T), err, workflow.CodeConflict)
		return
	}
	w.accepts(err, w.model.Apply(workflow.OpRetry, i, workflow.Ready))
}

func (w *twin) manage(t *rapid.T) {
	i := w.anyJob(t)
	to := rapid.SampledFrom([]workflow.JobStatus{workflow.Uninitialized, workflow.Blocked, workflow.Ready, workflow.Pending,
		workflow.Running, workflow.PendingFailed}).Draw(t, "status")
	if to == workflow.Blocked && w.model.Jobs[i].Status.IsComplete() {
		// It continues at once. Whether a job behind it that an operator made ready waits
		// in between depends on the order of the reference's checks.
		t.Skip("no single outcome")
	}
	_, err := w.Jobs.ManageStatusChange(w.ctx, w.ids[i], to, 1)
	switch {
	case to == w.model.Jobs[i].Status:
		w.must(err)
		return
	case w.model.Canceled && to.IsLive():
		wantCode(w.tb.(*testing.T), err, workflow.CodeConflict)
		return
	}
	w.accepts(err, w.model.Apply(workflow.OpManage, i, to))
}

func (w *twin) cancel(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		t.Skip("seldom")
	}
	_, err := w.Workflows.Cancel(w.ctx, w.workflow)
	w.must(err)
	w.model.Cancel()
}

func (w *twin) compare(t *rapid.T) {
	if diff := cmp.Diff(w.model.Statuses(), w.statuses()); diff != "" {
		t.Fatalf("statuses (-reference +store):\n%s", diff)
	}
	if w.check(); w.tb.Failed() {
		t.FailNow()
	}
	if n := w.number(`SELECT has_ended FROM workflow WHERE id = ?`, w.workflow); w.model.Counts().Ended() != (n == 1) {
		t.Fatalf("ended: %d, the reference says %t", n, w.model.Counts().Ended())
	}
}
