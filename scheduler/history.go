package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// history are the requests of actions in a run, newest first. It has everything that a
// plan has to remember, so that nothing is lost by a restart.
type history []store.AskedAllocation

// of returns the requests of one action.
func (h history) of(actionID int64) (part history) {
	for _, a := range h {
		if a.ActionID == actionID {
			part = append(part, a)
		}
	}
	return part
}

// in returns the requests in one pool: those planned there, and those of the actions
// that it follows.
func (h history) in(pool string, follows []int64) (part history) {
	for _, a := range h {
		if a.Pool == pool || a.Pool == "" && slices.Contains(follows, a.ActionID) {
			part = append(part, a)
		}
	}
	return part
}

// from returns the requests since a time in ms.
func (h history) from(ms int64) (part history) {
	for _, a := range h {
		if a.AskedMS >= ms {
			part = append(part, a)
		}
	}
	return part
}

// submitted returns the times of requests since a time.
func (h history) submitted(since time.Time) (times []time.Time) {
	for _, a := range h {
		if at := time.UnixMilli(a.AskedMS); !at.Before(since) {
			times = append(times, at)
		}
	}
	return times
}

// refusedFor returns the class of Slurm's refusal; empty if there was none. It came from
// sbatch, or Slurm said later that the allocation never starts, and we canceled it.
func refusedFor(a *store.AskedAllocation) slurm.Class {
	switch a.Cause {
	case compute.AllocationRefused, compute.AllocationCanceled:
		return slurm.Class(a.Refusal)
	}
	return ""
}

// failures returns the latest allocations in a row that were permanently refused, were
// never created without a refusal, or have ended without having done work. Canceled
// allocations and temporary refusals are ignored.
func (h history) failures() (f Failures) {
	f.Wide = h.wideFailed()
	for i := range h {
		a := &h[i]
		switch class := refusedFor(a); {
		case a.Worked:
			return f
		case a.EndMS == 0, a.Cause == compute.AllocationCanceled && class == "", class != "" && class != slurm.Permanent:
			continue
		}
		if a.NodeList != "" && !onSeveralNodes(a) {
			f.Nodes = union(f.Nodes, []string{a.NodeList})
		}
		if f.InARow++; f.InARow == 1 {
			f.Last, f.Reason, f.Refused = time.UnixMilli(a.EndMS), a.CauseText, refusedFor(a) != ""
		}
	}
	return f
}

// wideFailed reports whether the latest allocation that had several nodes has ended without
// having done work.
func (h history) wideFailed() bool {
	i := slices.IndexFunc(h, func(a store.AskedAllocation) bool { return onSeveralNodes(&a) && (a.Worked || a.EndMS > 0) })
	return i >= 0 && !h[i].Worked
}

// onSeveralNodes reports whether Slurm has given several nodes to an allocation.
func onSeveralNodes(a *store.AskedAllocation) bool { return strings.ContainsAny(a.NodeList, ",[") }

// hold returns why to wait before the next request: Slurm has refused one, but not
// permanently. Each refusal in a row doubles the wait. A limit may no longer apply as
// soon as one of our allocations has ended.
func (h history) hold(set *Settings) *Hold {
	var hold *Hold
	refusals := 0
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
			hold = &Hold{Until: time.UnixMilli(a.EndMS), Reason: "Slurm accepts no more now: " + a.CauseText, Limit: class == slurm.Limit}
		}
		refusals++
	}
	if hold != nil {
		hold.Until = hold.Until.Add(set.retryDelay(refusals))
	}
	return hold
}

// endedAfter reports whether an allocation that Slurm had accepted has ended after
// a time in ms.
func (h history) endedAfter(ms int64) bool {
	for i := range h {
		if refusedFor(&h[i]) == "" && h[i].EndMS > ms {
			return true
		}
	}
	return false
}
