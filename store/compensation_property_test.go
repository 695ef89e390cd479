package store

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// undoing is a mix whose workflow has undos, jobs that clean up, and perhaps a
// sub-workflow and an end job.
type undoing struct {
	*mix
	def   *workflow.Definition
	began map[int64]bool // jobs that were seen to run
	hand  bool           // somebody has changed a job by hand while the run was undone
	run   int64
}

// TestCompensationsInAnyOrder has runners, people, clocks and restarts do anything in any
// order. In all cases a run is undone at most once, when nothing of it is left on a live
// runner, in reverse order, and only what had begun; and every compensation can be
// brought to its end.
func TestCompensationsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		u := &undoing{mix: &mix{rig: newRig(t), t: rt}, began: map[int64]bool{}}
		defer func() { u.close() }()
		u.load()
		rt.Repeat(map[string]func(*rapid.T){
			"turn":       u.turn,
			"turn2":      u.turn,
			"turn3":      u.turn,
			"turn4":      u.turn,
			"expire":     u.replace,
			"operate":    u.change,
			"initialize": u.initialize,
			"new run":    u.newRun,
			"reset":      u.reset,
			"look":       u.look,
			"reopen":     u.reopen,
			"give up":    u.giveUp,
			"":           u.check,
		})
		u.finish()
		u.promises()
	})
}

// load draws a workflow.
func (u *undoing) load() {
	t := u.t
	d := &workflow.Definition{Name: "w", User: "me", Policy: &workflow.RunPolicy{OnFailure: &workflow.CompensationPolicy{
		Timeout: "PT30M", MaxAttempts: new(rapid.Int64Range(1, 3).Draw(t, "max_attempts")),
		When: rapid.SampledFrom([][]workflow.CompensationCase{nil, {workflow.CompensateCanceled}, {workflow.CompensateFailed, workflow.CompensateCanceled}}).Draw(t, "when"),
	}}}
	if rapid.Bool().Draw(t, "cancel_siblings_on") {
		d.Policy.CancelSiblingsOn = []workflow.SiblingRule{{Cause: workflow.CauseExit}}
	}
	undos := map[int32]string{}
	jobs := rapid.Int32Range(1, 5).Draw(t, "jobs")
	for i := range jobs {
		j := job(fmt.Sprintf("j%d", i), inMain)
		for before := range i {
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				j.DependsOn = append(j.DependsOn, before)
			}
		}
		j.RunIf = workflow.RunIf(rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "run_if"))
		if d.Jobs = append(d.Jobs, j); rapid.IntRange(0, 3).Draw(t, "undo") > 0 {
			undos[i] = "true"
		}
	}
	addStage := func(kind workflow.StageKind, name string) int32 {
		d.Stages = append(d.Stages, workflow.StageDefinition{Kind: kind, Name: name})
		return int32(len(d.Stages))
	}
	if rapid.Bool().Draw(t, "child") {
		of := addStage(workflow.StageChild, "j0")
		d.Jobs[0].Child = of
		delete(undos, 0)
		d.Jobs = append(d.Jobs, job("j0/a", of))
	}
	if rapid.Bool().Draw(t, "end") {
		d.Jobs = append(d.Jobs, job("end", addStage(workflow.StageEnd, "end")))
	}
	if n := rapid.IntRange(0, 2).Draw(t, "cleanups"); n > 0 {
		of := addStage(workflow.StageCompensation, workflow.CompensationStage)
		for i := range n {
			d.Jobs = append(d.Jobs, job(fmt.Sprintf("on_failure/%d", i), of))
		}
	}
	stage.AddCompensation(d, undos)
	s := &staged{rig: u.rig}
	s.load(d)
	u.def, u.run = d, 1
	u.hands = []*hand{s.node, u.rig.hand("n2", 2)}
}

// replace has a runner leave, or be considered dead; another one takes its place.
func (u *undoing) replace(t *rapid.T) {
	u.expire(t)
	for _, h := range u.hands {
		h.runID = u.runID()
	}
}

// change changes single jobs, or the run, as people do.
func (u *undoing) change(t *rapid.T) {
	u.hand = u.hand || u.number(`SELECT COUNT(*) FROM compensation WHERE workflow_id = ? AND run_id = ?`, u.workflow, u.run) > 0
	u.operate(t)
}

// newRun starts another run, with its own runners.
func (u *undoing) newRun(t *rapid.T) {
	u.mix.newRun(t)
	if u.run == u.runID() {
		return
	}
	u.run, u.hand = u.runID(), false
	for i := range u.hands {
		u.must(u.Runners.Expire(u.ctx, u.hands[i].id, "a new run"))
		u.hands[i] = u.rig.hand("n1", 2)
		u.hands[i].runID = u.run
	}
}

// look has time pass, and the daemon check what is due.
func (u *undoing) look(t *rapid.T) {
	u.now = u.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 31}).Draw(t, "minutes")) * time.Minute)
	u.must(u.Workflows.ReviewCompensations(u.ctx))
	u.must(u.Workflows.ReviewEnds(u.ctx))
}

// giveUp aborts the run, if it has not ended.
func (u *undoing) giveUp(*rapid.T) {
	u.do(func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, u.workflow)
		if err != nil || r.Halted {
			return err
		}
		return engine.AbortRun(tx, r, "enough")
	})
}

// reopen stops the daemon and starts the next one.
func (u *undoing) reopen(*rapid.T) {
	path := u.Path()
	u.must(u.Close())
	s, err := Open(u.ctx, Options{Path: path, Now: func() time.Time { return u.now }, OnCommit: func(c Changes) { u.changes = append(u.changes, c) }})
	u.must(err)
	u.rig.Store = s
}

// check checks the guarantees, by what the jobs and runners do.
func (u *undoing) check(t *rapid.T) {
	u.compare(t)
	status := map[int]workflow.JobStatus{}
	for i, id := range u.ids {
		status[i] = workflow.JobStatus(u.number(`SELECT status FROM job WHERE id = ?`, id))
		if u.number(`SELECT COUNT(*) FROM attempt WHERE job_id = ?`, id) > 0 || status[i] == workflow.Running {
			u.began[id] = true
		}
	}
	if n := u.number(`SELECT COALESCE(MAX(n), 0) FROM (SELECT COUNT(*) AS n FROM event WHERE workflow_id = ? AND type = 'compensation_started'
			GROUP BY json_extract(data, '$.run_id'))`, u.workflow); n > 1 {
		t.Fatalf("a run was undone %d times", n)
	}
	for i := range u.def.Jobs {
		if u.compensates(i) && status[i].IsLive() {
			u.checkLive(t, i, status)
		}
		if u.is(i, workflow.StageEnd) && status[i].IsLive() && u.number(`SELECT COUNT(*) FROM workflow WHERE id = ? AND given_up IS NOT NULL`, u.workflow) > 0 {
			u.checkGone(t, i)
		}
		if n := u.number(`SELECT COUNT(*) FROM attempt WHERE job_id = ? AND run_id = ? AND status = 5`, u.ids[i], u.run); n > 1 && u.compensates(i) && !u.hand {
			t.Fatalf("%s was successful %d times in run %d", u.def.Jobs[i].Name, n, u.run)
		}
	}
}

func (u *undoing) compensates(i int) bool { return u.is(i, workflow.StageCompensation) }

// is reports whether a job is in a stage of a kind.
func (u *undoing) is(i int, kind workflow.StageKind) bool {
	s := u.def.Jobs[i].Stage
	return s > 0 && u.def.Stages[s-1].Kind == kind
}

// checkLive checks a job of a compensation that a runner has.
func (u *undoing) checkLive(t *rapid.T, i int, status map[int]workflow.JobStatus) {
	j := &u.def.Jobs[i]
	for k := range u.def.Jobs {
		if !u.compensates(k) && status[k].IsLive() {
			t.Fatalf("%s is under way while %s is %s", j.Name, u.def.Jobs[k].Name, status[k])
		}
	}
	u.checkGone(t, i)
	if undone := j.Undoes - 1; undone >= 0 && !u.began[u.ids[undone]] && status[int(undone)] != workflow.Canceled {
		t.Fatalf("%s is under way, but its job never began", j.Name)
	}
	if u.hand {
		return
	}
	for k := range u.def.Jobs {
		other := u.def.Jobs[k].Undoes - 1
		if other >= 0 && (j.Undoes == 0 || u.isBehind(other, j.Undoes-1)) && !status[k].IsComplete() && !u.needless(k) {
			t.Fatalf("%s is under way while %s, which comes before, is %s", j.Name, u.def.Jobs[k].Name, status[k])
		}
	}
}

// checkGone checks that no live runner has other jobs of the run than a job and those of
// its stage.
func (u *undoing) checkGone(t *rapid.T, i int) {
	for _, h := range u.hands {
		for _, held := range h.held {
			k := int(held.JobID - u.ids[0])
			if u.def.Jobs[k].Stage != u.def.Jobs[i].Stage && u.number(`SELECT is_active FROM compute_node WHERE id = ?`, h.id) == 1 {
				t.Fatalf("%s is under way while runner %d has %s", u.def.Jobs[i].Name, h.id, u.def.Jobs[k].Name)
			}
		}
	}
}

// needless reports whether an undo waits that will not run.
func (u *undoing) needless(i int) bool {
	return u.number(`SELECT COUNT(*) FROM job WHERE id = ? AND skipped_by = 0`, u.ids[i]) == 1
}

// isBehind reports whether a job depends on another one, directly or indirectly.
func (u *undoing) isBehind(i, other int32) bool {
	for _, on := range u.def.Jobs[i].DependsOn {
		if on == other || u.isBehind(on, other) {
			return true
		}
	}
	return false
}

// finish brings a compensation in progress to its end: only a new runner and the clock
// are needed for it.
func (u *undoing) finish() {
	const open = `SELECT COUNT(*) FROM compensation WHERE workflow_id = ? AND state IN ('waiting', 'running')`
	if u.number(open, u.workflow) == 0 {
		return
	}
	for _, h := range u.hands {
		u.must(u.Runners.Expire(u.ctx, h.id, "the test is over"))
	}
	u.must(u.Workflows.ReviewCompensations(u.ctx))
	h := u.rig.hand("n9", 100)
	h.runID = u.runID()
	for range 100 {
		var reports []lease.Report
		for _, held := range h.held {
			r := exited(held.LeaseRef, 0)
			r.StartedMS, r.EndedMS = u.now.UnixMilli(), u.now.UnixMilli()
			reports = append(reports, r)
		}
		h.turn(reports...)
		u.now = u.now.Add(10 * time.Second) // past delays, within the timeout
		if u.check(u.t); u.number(open, u.workflow) == 0 {
			return
		}
	}
	u.now = u.now.Add(time.Hour)
	u.must(u.Workflows.ReviewCompensations(u.ctx))
	if u.number(open, u.workflow) > 0 || !u.hand {
		u.t.Fatalf("the compensation does not end: %v", u.statuses())
	}
}
