package store

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// victimHost is where all runners of a victim are.
const victimHost = "node"

// victimRunner is a runner with a spool file, whose jobs only seem to run.
type victimRunner struct {
	v        *victim
	id       int64
	workflow int64
	runID    int64
	number   int64
	spool    *spool.Writer
	held     []lease.Held
	recover  []lease.LeaseRef // recovery scripts to run
}

// run runs one runner.
func (v *victim) run() error {
	ids, err := v.list(`SELECT id FROM workflow WHERE is_hidden = 0 AND has_ended = 0`)
	if err != nil || len(ids) == 0 {
		return err
	}
	r, err := v.newRunner(ids[rand.IntN(len(ids))])
	if err != nil {
		return err
	}
	for range 5 + rand.IntN(20) {
		if err = r.turn(); err != nil {
			break
		}
	}
	if err == nil && rand.IntN(2) == 0 {
		err = r.giveUp()
	}
	if _, e := v.Runners.Leave(v.ctx, r.id, lease.LeaveRequest{Reason: "done"}); err == nil {
		err = e
	}
	if e := r.spool.Close(); err == nil {
		err = e
	}
	return err
}

func (v *victim) newRunner(id int64) (*victimRunner, error) {
	key := fmt.Sprintf("%x", rand.Uint64())
	answer, err := v.Runners.Register(v.ctx, Registration{WorkflowID: id, RegisterRequest: lease.RegisterRequest{
		Key: key, Hostname: victimHost, StartTime: view.Rfc3339(time.Now().UnixMilli()),
		NumCPUs: 8, MemoryBytes: 1 << 40, NumNodes: 1, NodeType: compute.SchedulerLocal, MaxParallelJobs: 8,
	}})
	if err != nil {
		return nil, err
	}
	r := &victimRunner{v: v, id: answer.RunnerID, workflow: id, runID: answer.Workflow.RunID}
	r.spool, err = spool.Create(v.dir, spool.Header{WorkflowID: id, RunID: r.runID, RunnerID: r.id, Key: key, Hostname: victimHost})
	return r, err
}

// turn advances the jobs and reports.
func (r *victimRunner) turn() error {
	now := time.Now().UnixMilli()
	t := lease.TurnRequest{Free: lease.Free{Slots: int64(rand.IntN(8))}}
	var held []lease.Held
	for _, h := range r.held {
		switch n := rand.IntN(10); {
		case h.StartedMS == 0 && n == 0:
			t.GiveBack = append(t.GiveBack, h.LeaseRef)
			continue
		case h.StartedMS == 0:
			h.StartedMS = now
		case n < 7:
			t.Reports = append(t.Reports, r.end(h, now))
			continue
		}
		held = append(held, h)
	}
	for _, ref := range r.recover {
		t.Recovered = append(t.Recovered, lease.Recovered{LeaseRef: ref, ReturnCode: int64(rand.IntN(2))})
	}
	t.Held, r.held, r.recover = held, held, nil
	return r.say(t)
}

// end returns the end of a job: most succeed.
func (r *victimRunner) end(h lease.Held, now int64) lease.Report {
	codes := []int64{0, 0, 0, 0, 0, 0, 0, 3, 8, 9}
	return lease.Report{LeaseRef: h.LeaseRef, StartedMS: h.StartedMS, EndedMS: now, Evidence: workflow.Evidence{ExitCode: &codes[rand.IntN(len(codes))]}}
}

// giveUp reports everything and takes nothing more.
func (r *victimRunner) giveUp() error {
	now := time.Now().UnixMilli()
	var t lease.TurnRequest
	for _, h := range r.held {
		if h.StartedMS == 0 {
			t.GiveBack = append(t.GiveBack, h.LeaseRef)
		} else {
			t.Reports = append(t.Reports, r.end(h, now))
		}
	}
	r.held = nil
	return r.say(t)
}

// say sends a turn, some of them twice, with the reports in the spool first.
func (r *victimRunner) say(t lease.TurnRequest) error {
	var spooled []lease.Report
	for _, rep := range t.Reports {
		spooled = append(spooled, lease.Report{LeaseRef: lease.LeaseRef{JobID: rep.JobID, Attempt: rep.Attempt, Fence: rep.Fence},
			StartedMS: rep.StartedMS, EndedMS: rep.EndedMS, Evidence: rep.Evidence})
	}
	if err := r.spool.Append(spooled, false); err != nil {
		return err
	}
	r.number++
	t.Turn, t.RunID = r.number, r.runID
	answer, err := r.v.Runners.Turn(r.v.ctx, r.id, t)
	if err != nil {
		return err
	}
	if rand.IntN(5) == 0 { // the answer was lost
		if answer, err = r.v.Runners.Turn(r.v.ctx, r.id, t); err != nil {
			return err
		}
	}
	if err := r.spool.Done(len(spooled)); err != nil {
		return err
	}
	r.hear(&t, &answer)
	return nil
}

// hear processes an answer and records what it acknowledges.
func (r *victimRunner) hear(t *lease.TurnRequest, answer *lease.TurnResponse) {
	var e entry
	for i, rep := range t.Reports {
		e.Reports = append(e.Reports, check.SpooledReport{RunID: r.runID, LeaseRef: rep.LeaseRef, EndedMS: rep.EndedMS, Answered: answer.Results[i].Outcome != lease.Refused})
		if answer.Results[i].Recovery != nil {
			r.recover = append(r.recover, rep.LeaseRef)
		}
	}
	void := map[lease.LeaseRef]bool{}
	for _, ref := range answer.Voided {
		void[ref] = true
	}
	kept := r.held[:0]
	for _, h := range r.held {
		if !void[h.LeaseRef] {
			kept = append(kept, h)
		}
	}
	r.held = kept
	for _, g := range answer.Grants {
		e.Grants = append(e.Grants, g.LeaseRef)
		if g.Recovery == nil {
			r.held = append(r.held, lease.Held{LeaseRef: g.LeaseRef})
		} else {
			r.recover = append(r.recover, g.LeaseRef)
		}
	}
	if len(e.Reports)+len(e.Grants) > 0 {
		r.v.write(e)
	}
}

// settle delivers what the runners of the previous process have left in their spool
// files, and expires them.
func (v *victim) settle() error {
	ids, err := v.list(`SELECT id FROM workflow WHERE is_hidden = 0`)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := v.deliver(id); err != nil {
			return err
		}
	}
	runners, err := v.Runners.Live(v.ctx)
	if err != nil {
		return err
	}
	for _, r := range runners {
		if err := v.Runners.Expire(v.ctx, r.ID, "its process was killed"); err != nil {
			return err
		}
	}
	return nil
}

func (v *victim) deliver(id int64) error {
	left, err := spool.TakeOver(v.dir, spool.Header{WorkflowID: id, Hostname: victimHost}, func(path string, err error) { panic(fmt.Sprint(path, err)) })
	if err != nil || len(left) == 0 {
		return err
	}
	r, err := v.newRunner(id)
	if err != nil {
		return err
	}
	for _, a := range left {
		var t lease.TurnRequest
		var old entry
		for _, rep := range a.Pending() {
			old.Dropped = append(old.Dropped, lease.LeaseRef(rep.LeaseRef))
			t.Reports = append(t.Reports, lease.Report{LeaseRef: lease.LeaseRef(rep.LeaseRef), StartedMS: rep.StartedMS, EndedMS: rep.EndedMS, Evidence: rep.Evidence})
		}
		for _, h := range a.Unreported() {
			t.Started = append(t.Started, lease.Held{LeaseRef: lease.LeaseRef(h.LeaseRef), StartedMS: h.StartedMS})
		}
		if a.Header.RunID != r.runID {
			v.write(old)
		} else if err := r.say(t); err != nil {
			return err
		}
		if err := a.Delivered(); err != nil {
			return err
		}
	}
	if _, err := v.Runners.Leave(v.ctx, r.id, lease.LeaveRequest{Reason: "delivered"}); err != nil {
		return err
	}
	return r.spool.Close()
}
