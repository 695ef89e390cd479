package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// exclusion finds the nodes on which a ready job must not start, because of open
// circuit breakers and of the job's own list of nodes to avoid.
type exclusion struct {
	nowMS    int64
	class    placement.Class
	runners  []placement.RunnerFacts
	breakers []workflow.BreakerTrip
	avoided  []workflow.AvoidedNode
	// requestsMore says that the daemon requests allocations, also on other nodes.
	requestsMore bool
	firstEnd     int64 // when the first exclusion that reason returned ends, ms; 0: never
}

func (f JobFacts) exclusion() *exclusion {
	return &exclusion{
		nowMS: f.NowMS, class: f.Class, runners: f.Runners, breakers: f.Breakers, avoided: f.Retries.Avoided,
		requestsMore: len(f.Places.Ready) > 0,
	}
}

// reason returns why the job must not start on the node of a runner; "" if it may.
func (x *exclusion) reason(r *placement.RunnerFacts) string {
	byBreaker, open := x.breaker(r)
	byList, avoids := x.avoids(r)
	var why string
	var until int64
	switch {
	case avoids && (!open || byList.UntilMS == 0 || byList.UntilMS > byBreaker.UntilMS):
		why, until = "the job avoids this node after a failure there", byList.UntilMS
	case open:
		why, until = byBreaker.Reason+" (breakers reset "+fmt.Sprint(byBreaker.ID)+")", byBreaker.UntilMS
	default:
		return ""
	}
	if until == 0 {
		return why
	}
	if x.firstEnd == 0 || until < x.firstEnd {
		x.firstEnd = until
	}
	return why + ", for another " + workflow.AgoMS(x.nowMS, until)
}

// breaker returns the breaker that excludes the node of a runner for the longest
// time; ok is false if there is none. A breaker does not apply to an allocation that
// was requested after the breaker opened, because Slurm was told about the node. Outside of
// allocations it does not apply to the only node there is.
func (x *exclusion) breaker(r *placement.RunnerFacts) (trip workflow.BreakerTrip, ok bool) {
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

// avoids returns the entry for the node of a runner in the job's list of nodes to
// avoid, and whether it applies. It does not if the job could run on no other node.
func (x *exclusion) avoids(r *placement.RunnerFacts) (entry workflow.AvoidedNode, applies bool) {
	i := slices.IndexFunc(x.avoided, func(n workflow.AvoidedNode) bool {
		return n.Node == r.Host && (n.UntilMS == 0 || n.UntilMS > x.nowMS)
	})
	if i < 0 {
		return workflow.AvoidedNode{}, false
	}
	elsewhere := x.requestsMore || slices.ContainsFunc(x.runners, func(o placement.RunnerFacts) bool {
		level, _ := o.Fit(x.class)
		return o.Host != r.Host && level != placement.FitsNever
	})
	return x.avoided[i], elsewhere
}

// nextExcluded says when a job may start that is excluded from every node it fits.
func (f JobFacts) nextExcluded(x *exclusion) string {
	text := "it starts on another node"
	if next := f.Places.next(); next != "" {
		text += ": " + next
	} else {
		text += ", once a runner is there"
	}
	if due := max(x.firstEnd, workflow.OrZero(f.Job.NotBeforeMS)); x.firstEnd > 0 && due > f.NowMS {
		text += ", or in " + workflow.AgoMS(f.NowMS, due) + " at the earliest, when it may use one of these nodes again"
	}
	return text
}
