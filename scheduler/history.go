package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// history is what actions have asked for in a run, the newest first. All that a
// plan has to remember is in it, so that a restart forgets nothing.
type history []store.AskedAllocation

// of is the part of it that belongs to one action.
func (h history) of(actionID int64) (part history) {
	for _, a := range h {
		if a.ActionID == actionID {
			part = append(part, a)
		}
	}
	return part
}

// in is the part of it in one pool: what was planned there, and what the actions
// that it follows have asked for.
func (h history) in(pool string, follows []int64) (part history) {
	for _, a := range h {
		if a.Pool == pool || a.Pool == "" && slices.Contains(follows, a.ActionID) {
			part = append(part, a)
		}
	}
	return part
}

// from is the part of it that was asked for since a time in ms.
func (h history) from(ms int64) (part history) {
	for _, a := range h {
		if a.AskedMS >= ms {
			part = append(part, a)
		}
	}
	return part
}

// submitted is when an allocation was asked for, not before some time.
func (h history) submitted(since time.Time) (times []time.Time) {
	for _, a := range h {
		if at := time.UnixMilli(a.AskedMS); !at.Before(since) {
			times = append(times, at)
		}
	}
	return times
}

// refusedFor is the class of Slurm's no, empty where it was none: what sbatch
// said, or why we canceled what would never have started.
func refusedFor(a *store.AskedAllocation) slurm.Class {
	switch a.Cause {
	case workflow.AllocationRefused, workflow.AllocationCanceled:
		return slurm.Class(a.Refusal)
	}
	return ""
}

// failures are the last allocations in a row that were refused for good, were
// never made though nobody said no, or have ended without work done. What we
// canceled, or what was not taken at the time, tells nothing.
func (h history) failures() (f Failures) {
	for i := range h {
		a := &h[i]
		switch class := refusedFor(a); {
		case a.Worked:
			return f
		case a.EndMS == 0, a.Cause == workflow.AllocationCanceled && class == "", class != "" && class != slurm.Permanent:
			continue
		}
		if a.NodeList != "" && !strings.ContainsAny(a.NodeList, ",[") {
			f.Nodes = union(f.Nodes, []string{a.NodeList})
		}
		if f.InARow++; f.InARow == 1 {
			f.Last, f.Reason, f.Refused = time.UnixMilli(a.EndMS), a.CauseText, refusedFor(a) != ""
		}
	}
	return f
}

// hold is why to wait before Slurm is asked again: it said no, though not for
// good. Each no in a row doubles the wait. A limit may have passed as soon as
// something of ours has ended.
func (h history) hold(set *Settings) *Hold {
	var hold *Hold
	noes := 0
	for i := range h {
		a := &h[i]
		class := refusedFor(a)
		if class == "" || class == slurm.Permanent {
			break
		}
		if hold == nil {
			if class == slurm.Limit && h.endedAfter(a.EndMS) {
				return nil
			}
			hold = &Hold{Until: time.UnixMilli(a.EndMS), Reason: "Slurm takes no more now: " + a.CauseText, Limit: class == slurm.Limit}
		}
		noes++
	}
	if hold != nil {
		hold.Until = hold.Until.Add(set.retryDelay(noes))
	}
	return hold
}

// endedAfter reports whether an allocation that Slurm had taken has ended after
// a time in ms.
func (h history) endedAfter(ms int64) bool {
	for i := range h {
		if refusedFor(&h[i]) == "" && h[i].EndMS > ms {
			return true
		}
	}
	return false
}
