package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// exclusion says from which nodes a ready job is kept: by open circuit breakers and
// by its own list.
type exclusion struct {
	nowMS    int64
	class    placement.Class
	runners  []placement.RunnerFacts
	breakers []workflow.BreakerTrip
	avoided  []workflow.AvoidedNode
	// AsksForMore says that allocations are asked for by themselves, on other nodes too.
	AsksForMore bool
	first       int64 // when the first of the nodes asked about is let in, ms; 0: never
}

func (f JobFacts) exclusion() *exclusion {
	return &exclusion{
		nowMS: f.NowMS, class: f.Class, runners: f.Runners, breakers: f.Breakers, avoided: f.Retries.Avoided,
		AsksForMore: len(f.Places.Ready) > 0,
	}
}

// from says what keeps the job from the node of a runner; empty if nothing does.
func (x *exclusion) from(r *placement.RunnerFacts) string {
	byBreaker, open := x.breaker(r)
	byList, avoids := x.avoids(r)
	var why string
	var until int64
	switch {
	case avoids && (!open || byList.UntilMS == 0 || byList.UntilMS > byBreaker.UntilMS):
		why, until = "the job keeps away from the node after a failure there", byList.UntilMS
	case open:
		why, until = byBreaker.Reason+" (breakers reset "+fmt.Sprint(byBreaker.ID)+")", byBreaker.UntilMS
	default:
		return ""
	}
	if until == 0 {
		return why
	}
	if x.first == 0 || until < x.first {
		x.first = until
	}
	return why + ", for another " + workflow.AgoMS(x.nowMS, until)
}

// breaker returns the breaker that keeps the job from the node of a runner for the
// longest. It gives way to a runner in an allocation that was asked for since, and
// elsewhere to the only node.
func (x *exclusion) breaker(r *placement.RunnerFacts) (workflow.BreakerTrip, bool) {
	var on []workflow.BreakerTrip
	for _, t := range x.breakers {
		if t.Action == workflow.BreakerExcludeNode && t.Subject == r.Host && t.UntilMS > x.nowMS && (r.AskedMS == nil || *r.AskedMS <= t.SinceMS) {
			on = append(on, t)
		}
	}
	if len(on) == 0 || r.AskedMS == nil && !slices.ContainsFunc(x.runners, func(o placement.RunnerFacts) bool { return o.Host != r.Host }) {
		return workflow.BreakerTrip{}, false
	}
	return slices.MaxFunc(on, func(a, b workflow.BreakerTrip) int { return cmp.Compare(a.UntilMS, b.UntilMS) }), true
}

// avoids returns the entry of the job's list that is about the node of a runner.
// The list gives way where the job could run on no other node.
func (x *exclusion) avoids(r *placement.RunnerFacts) (workflow.AvoidedNode, bool) {
	i := slices.IndexFunc(x.avoided, func(n workflow.AvoidedNode) bool {
		return n.Node == r.Host && (n.UntilMS == 0 || n.UntilMS > x.nowMS)
	})
	if i < 0 {
		return workflow.AvoidedNode{}, false
	}
	elsewhere := x.AsksForMore || slices.ContainsFunc(x.runners, func(o placement.RunnerFacts) bool {
		level, _ := o.Fit(x.class)
		return o.Host != r.Host && level != placement.FitsNever
	})
	return x.avoided[i], elsewhere
}

// nextKept says when a job may start that is kept from every node that it fits.
func (f JobFacts) nextKept(x *exclusion) string {
	text := "it starts on another node"
	if next := f.Places.next(); next != "" {
		text += ": " + next
	} else {
		text += ", once a runner is there"
	}
	if due := max(x.first, workflow.OrZero(f.Job.NotBeforeMS)); x.first > 0 && due > f.NowMS {
		text += ", or in " + workflow.AgoMS(f.NowMS, due) + " at the earliest, when the first of these is let in"
	}
	return text
}
