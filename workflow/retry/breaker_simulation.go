package retry

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// SimulatedBreakers are the circuit breakers of a simulation.
type SimulatedBreakers struct {
	Nodes *workflow.CircuitBreaker            // the node breaker of all workflows; nil: disabled
	Of    map[int64][]workflow.CircuitBreaker // the breakers of workflows, by id
}

// SimulatedTrip is a circuit breaker that would have opened. Times are in ms since
// the epoch.
type SimulatedTrip struct {
	WorkflowID int64                  `json:"workflow_id,omitempty"` // 0: it applies to all workflows
	RunID      int64                  `json:"run_id,omitempty"`
	Breaker    string                 `json:"breaker"`
	Subject    string                 `json:"subject,omitempty"` // the node or the category
	Action     workflow.BreakerAction `json:"action"`
	Reason     string                 `json:"reason"`
	SinceMS    int64                  `json:"since_ms"`
	UntilMS    int64                  `json:"until_ms"`
	// Held is the number of retries that it would have turned into holds, Kept the number of
	// attempts that started although it would have prevented that.
	Held int64 `json:"held"`
	Kept int64 `json:"kept"`

	trip workflow.BreakerTrip
}

// shownTrips is the maximum number of trips that a simulation lists.
const shownTrips = 100

// breakerSubject is the key under which failures are counted.
type breakerSubject struct {
	workflowID, runID int64 // 0 for the breaker of all workflows
	breaker, subject  string
}

// breakerSimulator counts failures for circuit breakers, in the order in which they
// happened.
type breakerSimulator struct {
	breakers SimulatedBreakers
	failures map[breakerSubject][]brokenAttempt // within the window, since the last trip
	open     map[breakerSubject]int64           // until when the breaker is open
	trips    []*SimulatedTrip
}

// brokenAttempt is when an attempt failed, and the lost runner that it was on.
type brokenAttempt struct {
	endMS  int64
	lostBy int64 // 0: no runner was lost
}

func newBreakerSimulator(breakers SimulatedBreakers) breakerSimulator {
	return breakerSimulator{breakers: breakers, failures: map[breakerSubject][]brokenAttempt{}, open: map[breakerSubject]int64{}}
}

// began counts an attempt for the first open breaker that would have prevented its start.
func (s *breakerSimulator) began(a *RecordedAttempt) {
	if a.StartedMS == nil {
		return
	}
	for _, t := range s.trips {
		if !t.appliesTo(a) || *a.StartedMS <= t.SinceMS || *a.StartedMS >= t.UntilMS {
			continue
		}
		if t.Action == workflow.BreakerPause || t.Action == workflow.BreakerExcludeNode && t.Subject == a.Node {
			t.Kept++
			return
		}
	}
}

// appliesTo reports whether the trip applies to the run of an attempt.
func (t *SimulatedTrip) appliesTo(a *RecordedAttempt) bool {
	return t.WorkflowID == 0 || t.WorkflowID == a.WorkflowID && t.RunID == a.RunID
}

// openFor returns the breakers that apply to the run of an attempt and were open when the
// attempt ended.
func (s *breakerSimulator) openFor(a *RecordedAttempt) (open []workflow.BreakerTrip) {
	for _, t := range s.trips {
		if t.appliesTo(a) && workflow.OrZero(a.EndedMS) < t.UntilMS {
			open = append(open, t.trip)
		}
	}
	return open
}

// held counts a failure for the breaker that held it, if a breaker decided.
func (s *breakerSimulator) held(a *RecordedAttempt, rule string, f *workflow.Failure) {
	for _, t := range s.trips {
		if t.appliesTo(a) && workflow.OrZero(a.EndedMS) < t.UntilMS && rule == workflow.RuleBreaker+t.trip.Breaker && t.trip.Holds(f) {
			t.Held++
			return
		}
	}
}

// failed counts a failure for the breakers that apply to it.
func (s *breakerSimulator) failed(a *RecordedAttempt, f *workflow.Failure) {
	own := s.breakers.Of[a.WorkflowID]
	for i := range own {
		if subject, ok := own[i].Subject(f); ok {
			s.count(&own[i], breakerSubject{a.WorkflowID, a.RunID, own[i].Key(), subject}, brokenAttempt{endMS: workflow.OrZero(a.EndedMS)})
		}
	}
	if b := s.breakers.Nodes; b != nil && !f.Cause.OfCommand {
		if subject, ok := b.Subject(f); ok {
			broken := brokenAttempt{endMS: workflow.OrZero(a.EndedMS)}
			if f.Cause.Kind != workflow.CauseLaunch {
				broken.lostBy = workflow.OrZero(a.RunnerID)
			}
			s.count(b, breakerSubject{breaker: b.Key(), subject: subject}, broken)
		}
	}
}

// count counts a failure and opens the breaker if the threshold is reached. All attempts
// that were lost with the same runner count as one failure.
func (s *breakerSimulator) count(b *workflow.CircuitBreaker, under breakerSubject, f brokenAttempt) {
	if s.open[under] > f.endMS {
		return
	}
	all := slices.DeleteFunc(s.failures[under], func(x brokenAttempt) bool {
		return x.endMS <= f.endMS-b.Window().Milliseconds() || x.lostBy != 0 && x.lostBy == f.lostBy
	})
	if all = append(all, f); int64(len(all)) < b.Threshold {
		s.failures[under] = all
		return
	}
	delete(s.failures, under)
	t := b.NewTrip(under.subject, nil, int64(len(all)), f.endMS)
	s.open[under] = t.UntilMS
	s.trips = append(s.trips, &SimulatedTrip{
		WorkflowID: under.workflowID, RunID: under.runID, Breaker: t.Breaker, Subject: t.Subject, Action: t.Action, Reason: t.Reason,
		SinceMS: t.SinceMS, UntilMS: t.UntilMS, trip: t,
	})
}
