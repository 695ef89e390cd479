package store

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// granted checks what a turn was granted, against the state before it.
func (m *model) granted(w *world, t *modelTurn, a *lease.TurnResponse) error {
	if err := m.tx.Flush(); err != nil {
		return err
	}
	after, err := m.state()
	if err != nil {
		return err
	}
	m.promise(w, m.before, after)
	for _, g := range a.Grants {
		switch {
		case len(a.Grants) > 1 || g.LeaseRef != lease.LeaseRef{JobID: m.job, Attempt: after.attempt, Fence: after.fence}:
			return fmt.Errorf("%v was granted, the lease is (%d, fence %d)", a.Grants, after.attempt, after.fence)
		case after.holder != t.runner:
			return fmt.Errorf("runner %d was granted the job of runner %d", t.runner, after.holder)
		case after.canceled || after.ended:
			return fmt.Errorf("granted after the end")
		case g.Recovery == nil && m.nowMS < w.earliestMS:
			return fmt.Errorf("granted %d ms before its delay is over", w.earliestMS-m.nowMS)
		}
	}
	return nil
}

// check checks whether a step kept the guarantees.
func (m *model) check(w *world, before, after *modelState) error {
	if after.twice {
		return fmt.Errorf("a report is recorded, and late as well")
	}
	if err := records(before, after); err != nil {
		return err
	}
	if err := m.leases(w, before, after); err != nil {
		return err
	}
	if err := m.processes(w, before, after); err != nil {
		return err
	}
	if err := m.budgets(after); err != nil {
		return err
	}
	m.promise(w, before, after)
	if after.status == workflow.Ready && max(after.notBeforeMS, m.nowMS) < w.earliestMS && !after.canceled {
		return fmt.Errorf("it may start at %d, the policy says not before %d", after.notBeforeMS-modelStart, w.earliestMS-modelStart)
	}
	return theEnd(after)
}

// superseded reports whether a changed record is that of a loss whose runner has reported
// the end after all, before the job was claimed again.
func superseded(before *modelState, i int, now modelAttempt) bool {
	was := before.attempts[i]
	return i == len(before.attempts)-1 && before.status == workflow.Ready && before.fence == was.fence &&
		was.cause == workflow.CauseLost && was.action == workflow.ActionRetry && now.attempt == was.attempt && now.fence == was.fence && now.cause != workflow.CauseLost
}

// records checks that there is one record per attempt, in order, and that none changes,
// except that of a loss.
func records(before, after *modelState) error {
	for i, a := range after.attempts {
		if a.attempt != int64(i+1) {
			return fmt.Errorf("record %d is of attempt %d", i+1, a.attempt)
		}
		if i < len(before.attempts) && a != before.attempts[i] && !superseded(before, i, a) {
			return fmt.Errorf("the record %+v became %+v", before.attempts[i], a)
		}
	}
	if len(after.attempts) < len(before.attempts) || len(after.attempts) > len(before.attempts)+1 {
		return fmt.Errorf("%d records became %d", len(before.attempts), len(after.attempts))
	}
	return nil
}

// leases checks that a fence never decreases and is different for each grant, and that
// only one runner has a valid lease.
func (m *model) leases(w *world, before, after *modelState) error {
	if after.fence < before.fence {
		return fmt.Errorf("the fence fell from %d to %d", before.fence, after.fence)
	}
	if before.holder != 0 && after.holder != 0 && before.holder != after.holder &&
		len(before.attempts) == len(after.attempts) && before.recovering == after.recovering { // it was not released in between
		return fmt.Errorf("runner %d took the job from runner %d", after.holder, before.holder)
	}
	if after.holder != 0 && before.holder == 0 && after.fence == before.fence {
		return fmt.Errorf("granted under the old fence %d", after.fence)
	}
	valid := 0
	for i := range w.machines {
		for _, l := range w.machines[i].held {
			if after.status.IsLive() && l.ref == (lease.LeaseRef{JobID: m.job, Attempt: after.attempt, Fence: after.fence}) {
				valid++
			}
		}
	}
	if valid > 1 {
		return fmt.Errorf("%d runners have a valid lease", valid)
	}
	return nil
}

// processes checks that only started jobs are attempts, and that none is lost that
// continues where the daemon has not expired its runner.
func (m *model) processes(w *world, before, after *modelState) error {
	if len(after.attempts) == len(before.attempts) {
		return nil
	}
	a := after.attempts[len(after.attempts)-1]
	if !slices.Contains(w.begun, a.fence) {
		return fmt.Errorf("attempt %d is recorded as %s, and was never started", a.attempt, a.cause)
	}
	for i := range w.machines {
		n := &w.machines[i]
		for _, l := range n.held {
			if l.ref == (lease.LeaseRef{JobID: m.job, Attempt: a.attempt, Fence: a.fence}) && l.started && !l.script && a.cause == workflow.CauseLost && after.active[n.runner] {
				return fmt.Errorf("attempt %d is taken for lost, and its process goes on", a.attempt)
			}
		}
	}
	return nil
}

// budgets checks the limits of each rule and of all rules together; preemptions use no
// budget.
func (m *model) budgets(s *modelState) error {
	var counted int64
	byRule := map[string]int64{}
	for _, a := range s.attempts {
		if a.action != workflow.ActionRetry && a.action != workflow.ActionRecover {
			if a.counted {
				return fmt.Errorf("attempt %d is counted and was not retried", a.attempt)
			}
			continue
		}
		rule, known := m.rules[a.rule]
		if !known || a.counted != rule.counted {
			return fmt.Errorf("attempt %d was retried by %q, counted: %v", a.attempt, a.rule, a.counted)
		}
		if byRule[a.rule]++; byRule[a.rule] > rule.limit {
			return fmt.Errorf("rule %s has granted %d retries, its limit is %d", a.rule, byRule[a.rule], rule.limit)
		}
		if a.counted {
			counted++
		}
	}
	if counted > m.mayRetry {
		return fmt.Errorf("%d counted retries, global_max_retries is %d", counted, m.mayRetry)
	}
	return nil
}

// promise records when the next attempt may start.
func (m *model) promise(w *world, before, after *modelState) {
	if n := len(after.attempts); n > len(before.attempts) || n > 0 && after.attempts[n-1] != before.attempts[n-1] {
		w.earliestMS = m.nowMS + m.rules[after.attempts[n-1].rule].delayMS
	}
	if before.recovering && after.status == workflow.Ready && after.free("p/script") > before.free("p/script") {
		w.earliestMS = max(w.earliestMS, m.nowMS+m.afterFail)
	}
}

// theEnd checks that the end is announced once, when nothing is left to do, and not
// before.
func theEnd(s *modelState) error {
	switch {
	case s.verdicts != s.generation+1 && s.ended:
		return fmt.Errorf("%d verdicts in %d generations", s.verdicts, s.generation+1)
	case s.verdicts != s.generation && !s.ended:
		return fmt.Errorf("%d verdicts, though generation %d goes on", s.verdicts, s.generation)
	case s.ended && s.status.IsLive():
		return fmt.Errorf("it has ended, and the job is %s", s.status)
	case s.ended != (s.status.IsComplete() || s.canceled && !s.status.IsLive() && s.ended):
		return fmt.Errorf("the job is %s, ended: %v", s.status, s.ended)
	}
	return nil
}
