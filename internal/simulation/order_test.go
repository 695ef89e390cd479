package simulation

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// order is what has begun since people last intervened, and must not be followed by
// certain other things.
type order struct {
	people  time.Time            // when they intervened
	ends    map[int32]*execution // of end jobs, by the stage that they end
	undoing *execution           // of a compensation
	undos   map[int32]*execution // by the job that they undo
	cleans  *execution           // of a job of on_failure
}

// settling is the time for which jobs that people took away may still start, because
// their grant was in transit.
const settling = 2 * time.Minute

func newOrder() order { return order{ends: map[int32]*execution{}, undos: map[int32]*execution{}} }

// forget starts again when people intervene.
func (o *order) forget() {
	*o = newOrder()
	o.people = time.Now()
}

// checkOrder checks that a process begins when its job may (P6), and that stages end and
// are undone in their order (P11).
func (ps *processes) checkOrder(p *execution) {
	place := int32(ps.jobs[p.job])
	ps.checkDependencies(p, place)
	if time.Since(ps.order.people) < settling {
		return
	}
	for stage, end := range ps.order.ends {
		if slices.Contains(ps.within(stage), place) {
			ps.violated("P11: job %d begins after the end of its stage, attempt %d of job %d", p.job, end.attempt, end.job)
		}
	}
	kind := ps.kindOf(place)
	if first := ps.order.undoing; first != nil && kind != workflow.StageCompensation {
		ps.violated("P11: job %d begins, although job %d has begun to undo the run", p.job, first.job)
	}
	switch kind {
	case workflow.StageEnd:
		stage := ps.def.Stages[ps.def.Jobs[place].Stage-1].Parent
		ps.checkNoneRuns(p, ps.within(stage))
		ps.order.ends[stage] = p
	case workflow.StageCompensation:
		ps.checkUndo(p, place)
	}
}

// checkUndo checks the start of a compensation's job: nothing of the run is left, and
// what ran last is undone first.
func (ps *processes) checkUndo(p *execution, place int32) {
	var rest []int32
	for i := range ps.def.Jobs {
		if ps.kindOf(int32(i)) != workflow.StageCompensation {
			rest = append(rest, int32(i))
		}
	}
	ps.checkNoneRuns(p, rest)
	ps.order.undoing = p
	undoes := ps.def.Jobs[place].Undoes - 1
	if undoes < 0 {
		ps.order.cleans = p
		return
	}
	if c := ps.order.cleans; c != nil {
		ps.violated("P11: job %d undoes its job, although job %d has begun to clean up", p.job, c.job)
	}
	for other, q := range ps.order.undos {
		if ps.dependsOn(undoes, other) {
			ps.violated("P11: job %d undoes job %d after job %d, which undoes a dependency of it", p.job, ps.idOf(undoes), q.job)
		}
	}
	ps.order.undos[undoes] = p
}

// checkNoneRuns checks that none of some jobs has a process that can be reached.
func (ps *processes) checkNoneRuns(p *execution, places []int32) {
	for _, place := range places {
		if q := ps.living(place); q != nil {
			ps.violated("P11: job %d begins on %s while job %d attempt %d continues on %s", p.job, p.node, q.job, q.attempt, q.node)
		}
	}
}

// living returns a live process of a job on a node that can be reached.
func (ps *processes) living(place int32) *execution {
	for _, q := range ps.of[ps.idOf(place)] {
		if q.end.IsZero() && !q.excused {
			return q
		}
	}
	return nil
}

// checkDependencies checks that a job starts when it may, also a job of a sub-workflow
// (P6).
func (ps *processes) checkDependencies(p *execution, place int32) {
	j := &ps.def.Jobs[place]
	for _, on := range j.DependsOn {
		if q := ps.living(on); q != nil {
			ps.violated("P6: job %d starts while job %d, on which it depends, still runs on %s", p.job, q.job, q.node)
		}
		if j.RunIf == workflow.RunIfSuccess && !ps.didSucceed(on, p.run) {
			ps.violated("P6: job %d starts before job %d has succeeded", p.job, ps.idOf(on))
		}
	}
	stage := j.Stage
	if ps.kindOf(place) == workflow.StageEnd {
		stage = ps.def.Stages[stage-1].Parent
	}
	if parent, ok := ps.parentOf(stage); ok {
		ps.checkDependencies(p, parent)
	}
}

// didSucceed reports whether a job was successful, or was not needed in a run. For a
// sub-workflow with a condition of its own this is not known.
func (ps *processes) didSucceed(place int32, run int64) bool {
	j := &ps.def.Jobs[place]
	if j.RunIf == workflow.RunIfFailure && !ps.hasBegun(place, run) {
		return true
	}
	if j.Child == 0 {
		return ps.succeeded(ps.idOf(place))
	}
	if end, ok := ps.endOf(j.Child); ok && !ps.didSucceed(end, run) {
		return false
	}
	if ps.def.Stages[j.Child-1].Policy.SuccessIf != "" {
		return true
	}
	for i := range ps.def.Jobs {
		if ps.def.Jobs[i].Stage == j.Child && !ps.didSucceed(int32(i), run) {
			return false
		}
	}
	return true
}

// hasBegun reports whether a job, or one of its sub-workflow, has had a process in a run.
func (ps *processes) hasBegun(place int32, run int64) bool {
	if child := ps.def.Jobs[place].Child; child > 0 {
		return slices.ContainsFunc(ps.within(child), func(k int32) bool { return ps.hasBegun(k, run) })
	}
	return slices.ContainsFunc(ps.of[ps.idOf(place)], func(p *execution) bool { return p.run == run })
}
