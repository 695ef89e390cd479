package classifier

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// Facts are what the decision about a call depends on.
type Facts struct {
	NowMS    int64
	Policy   *workflow.ClassifierPolicy // nil: the workflow has no classifier
	Canceled bool                       // the workflow is canceled
	Held     []hold.HeldJob             // of the workflow
	Proposed map[int64]bool             // held jobs with an open proposal
	Calls    []Call                     // of the run, the oldest first
	LastDay  int64                      // calls for the workflow within the last 24 hours
}

// Decision says whether an agent is asked now.
type Decision struct {
	Ask     []hold.HoldGroup // about these; none: it is not asked now
	UntilMS int64            // when to decide again at the latest, unless something happens; 0: only then
	Reason  string           // why it is not asked
}

// Due reports whether the agent is asked now or at a known time.
func (d *Decision) Due() bool { return len(d.Ask) > 0 || d.UntilMS != 0 }

// Awaited reports whether somebody who waits for an answer about held jobs should go on: a call
// goes on, or one is due that is not the repetition of one without an answer.
func Awaited(calls []Call, d *Decision) bool {
	if len(calls) == 0 {
		return d.Due()
	}
	last := calls[len(calls)-1].Outcome
	return last == Running || last.Answered() && d.Due()
}

// Line returns the decision in one line: "an agent is asked in 30s: others may fail alike soon".
func (d *Decision) Line(nowMS int64) string {
	switch {
	case len(d.Ask) > 0:
		return "an agent is asked now"
	case d.UntilMS > nowMS:
		return fmt.Sprintf("an agent is asked in %s: %s", workflow.AgoMS(nowMS, d.UntilMS), d.Reason)
	}
	return "no agent is asked now: " + d.Reason
}

const (
	// maxTries is how often an agent is asked about a job that it does not propose anything for.
	maxTries = 2
	// againAfter is the time between two calls after one that was not answered.
	againAfter = time.Minute
	// maxGroups is the number of groups in a call.
	maxGroups = 20
)

// Decide decides whether an agent is asked about held jobs, and about which. Jobs that a
// proposal or their deadline decides, that cannot be retried, or that the agent was asked
// about in vain are left out.
func Decide(f *Facts) Decision {
	if f.Policy == nil {
		return Decision{Reason: "the workflow has no classifier"}
	}
	if f.Canceled {
		return Decision{Reason: "the workflow is canceled"}
	}
	l := LimitsOf(f.Policy)
	if n := len(f.Calls); n > 0 && f.Calls[n-1].Outcome == Running {
		return Decision{Reason: "a call goes on"}
	}
	var open []hold.HeldJob
	var why string
	var oldest int64
	for i := range f.Held {
		j := &f.Held[i]
		if reason := f.leftOut(j); reason != "" {
			why = reason
			continue
		}
		if open = append(open, *j); oldest == 0 || j.Hold.SinceMS < oldest {
			oldest = j.Hold.SinceMS
		}
	}
	switch {
	case len(f.Held) == 0:
		return Decision{Reason: "no job is held"}
	case len(open) == 0:
		return Decision{Reason: why}
	case int64(len(f.Calls)) >= l.Calls:
		return Decision{Reason: fmt.Sprintf("the agent was called %s in this run, which is the limit (max_calls)", workflow.CountOf(int64(len(f.Calls)), "time", "times"))}
	case f.LastDay >= l.CallsPerDay:
		return Decision{Reason: fmt.Sprintf("the agent was called %s within 24 hours, which is the limit (max_calls_per_day)", workflow.CountOf(f.LastDay, "time", "times"))}
	}
	if due := oldest + l.Delay.Milliseconds(); due > f.NowMS {
		return Decision{Reason: "others may fail alike soon", UntilMS: due}
	}
	if n := len(f.Calls); n > 0 && !f.Calls[n-1].Outcome.Answered() {
		if due := f.Calls[n-1].EndedMS + againAfter.Milliseconds(); due > f.NowMS {
			return Decision{Reason: "the last call was not answered", UntilMS: due}
		}
	}
	groups := hold.GroupHeld(open)
	return Decision{Ask: groups[:min(len(groups), maxGroups)]}
}

// leftOut returns why the agent is not asked about a job; "" if it may be.
func (f *Facts) leftOut(j *hold.HeldJob) string {
	tries := 0
	for i := range f.Calls {
		c := &f.Calls[i]
		if c.StartedMS < j.Hold.SinceMS || !c.About(j.Fingerprint) {
			continue
		}
		if c.Outcome.Answered() {
			return "the agent was asked, and a person decides about what is left"
		}
		tries++
	}
	switch d := j.Hold.DeadlineMS; {
	case f.Proposed[j.ID]:
		return "a person decides about a proposal"
	case j.RetriesLeft == 0:
		return "no retry is left that an agent could decide about"
	case d != nil && *d <= f.NowMS:
		return "the deadline decides"
	case tries >= maxTries:
		return fmt.Sprintf("the agent was asked %s and proposed nothing", workflow.CountOf(int64(tries), "time", "times"))
	}
	return ""
}
