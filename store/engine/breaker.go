package engine

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// brokenBy is a breaker that counts a failure, and the subject under which it counts.
type brokenBy struct {
	breaker *workflow.CircuitBreaker
	ofNodes bool // the breaker for the nodes of all workflows
	subject string
}

// noteFailure collects the breakers that count a failed attempt.
func noteFailure(f *Finisher, failure *workflow.Failure) error {
	policy, err := f.Run.Policy()
	if err != nil {
		return err
	}
	note := func(b *workflow.CircuitBreaker, ofNodes bool) {
		subject, ok := b.Subject(failure)
		if ok && !slices.ContainsFunc(f.broken, func(x brokenBy) bool {
			return x.breaker.Key() == b.Key() && x.subject == subject && x.ofNodes == ofNodes
		}) {
			f.broken = append(f.broken, brokenBy{b, ofNodes, subject})
		}
	}
	for i := range policy.CircuitBreakers {
		note(&policy.CircuitBreakers[i], false)
	}
	if !slices.Contains(workflow.InfrastructureCauses(), failure.Cause.Kind) || failure.Cause.OfCommand {
		return nil
	}
	settings, err := view.PolicySource{Row: f.tx.Row}.Settings()
	if err != nil {
		return err
	}
	if b, on := settings.NodeBreaker.Breaker(); on {
		note(&b, true)
	}
	return nil
}

// tripBreakers opens the breakers whose threshold has been reached.
func tripBreakers(f *Finisher) error {
	broken := f.broken
	f.broken = nil
	for _, b := range broken {
		if err := tripBreaker(f, b); err != nil {
			return fmt.Errorf("circuit breaker %s of workflow %d: %w", b.breaker.Key(), f.Run.WorkflowID, err)
		}
	}
	return nil
}

func tripBreaker(f *Finisher, b brokenBy) error {
	tx := f.tx
	workflowID := sql.NullInt64{Int64: f.Run.WorkflowID, Valid: !b.ofNodes}
	var lastEnd int64 // of the last trip; in the future while it is open
	err := tx.Row(`SELECT COALESCE(MAX(iif(ended_ms = 0, until_ms, ended_ms)), 0) FROM breaker_trip WHERE workflow_id IS ? AND breaker = ? AND subject = ?
		AND (? OR run_id = ?)`, []any{workflowID, b.breaker.Key(), b.subject, b.ofNodes, f.Run.RunID}, &lastEnd)
	if err != nil || lastEnd > tx.NowMS {
		return err
	}
	since := max(lastEnd, tx.NowMS-b.breaker.Window().Milliseconds())
	n, attempts, err := countBroken(tx, f.Run, b, since)
	if err != nil || n < b.breaker.Threshold {
		return err
	}
	trip := b.breaker.NewTrip(b.subject, attempts, n, tx.NowMS)
	if trip.RunID = f.Run.RunID; !b.ofNodes {
		trip.WorkflowID = f.Run.WorkflowID
	}
	return OpenBreaker(tx, f.Run, trip)
}

// countBroken returns how many attempts that a breaker counts have failed since a time, and
// the latest few. For the breaker of all nodes, all attempts that were lost together with a
// runner count once.
func countBroken(tx *core.Tx, r *view.Run, b brokenBy, sinceMS int64) (n int64, attempts []workflow.TripAttempt, err error) {
	// Preempted attempts, and failures because of other jobs, do not count.
	const ownFailure = ` AND cause NOT IN ('preempted', 'sub_workflow') AND NOT (cause = 'walltime' AND json_extract(evidence, '$.killed_by') IS 'drain')
		AND (compute_node_id IS NOT NULL OR start_ms IS NOT NULL)`
	condition, args := `workflow_id = ? AND run_id = ? AND status IN ({failed}, {terminated}) AND end_ms > ?`+ownFailure, []any{r.WorkflowID, r.RunID, sinceMS}
	counted := `COUNT(*)`
	if b.ofNodes {
		condition, args = `cause IN ('node_fail', 'lost', 'launch') AND json_extract(evidence, '$.spawn_of_command') IS NOT 1 AND hostname = ? AND end_ms > ?`, []any{b.subject, sinceMS}
		counted = `COUNT(DISTINCT iif(cause = 'launch', job_id || '/' || run_id || '/' || attempt_id, COALESCE(compute_node_id, 0)))`
	} else {
		k := b.breaker
		add := func(text string, arg any) { condition, args = condition+text, append(args, arg) }
		if k.Category != "" {
			add(` AND category = ?`, k.Category)
		}
		if len(k.Cause) > 0 {
			causes, err := json.Marshal(k.Cause)
			if err != nil {
				return 0, nil, err
			}
			add(` AND cause IN (SELECT value FROM json_each(?))`, string(causes))
		}
		switch k.Per {
		case workflow.PerNode:
			add(` AND hostname = ?`, b.subject)
		case workflow.PerCategory:
			add(` AND category = ?`, b.subject)
		}
	}
	if err := tx.Row(`SELECT `+counted+` FROM attempt WHERE `+condition, args, &n); err != nil || n < b.breaker.Threshold {
		return n, nil, err
	}
	err = tx.Each(`SELECT workflow_id, job_id, attempt_id, COALESCE(hostname, ''), cause, end_ms FROM attempt WHERE `+condition+`
		ORDER BY end_ms DESC, job_id DESC LIMIT `+strconv.Itoa(row.MaxTripAttempts), func(row sqlite.Scanner) error {
		var a workflow.TripAttempt
		err := row.Scan(&a.WorkflowID, &a.JobID, &a.AttemptID, &a.Node, &a.Cause, &a.EndedMS)
		attempts = append(attempts, a)
		return err
	}, args...)
	return n, attempts, err
}

// OpenBreaker stores a trip and takes the action of its breaker.
func OpenBreaker(tx *core.Tx, r *view.Run, t workflow.BreakerTrip) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	var workflowID any
	if t.WorkflowID != 0 {
		workflowID = t.WorkflowID
	}
	t.ID, err = tx.Insert(`INSERT INTO breaker_trip (workflow_id, run_id, breaker, subject, action, trip, since_ms, until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		workflowID, t.RunID, t.Breaker, t.Subject, string(t.Action), string(text), t.SinceMS, t.UntilMS)
	if err != nil {
		return err
	}
	tx.Shared.Breakers = nil
	if err := BreakerEvent(tx, r.WorkflowID, workflow.EventBreakerOpened, t); err != nil {
		return err
	}
	does := map[workflow.BreakerAction]string{
		workflow.BreakerExcludeNode: "no further job is given to " + t.Subject, workflow.BreakerPause: "no further job is claimed",
		workflow.BreakerHold: "such failures wait for a classification instead of a retry",
	}[t.Action]
	err = core.RaiseAlert(tx, r, workflow.Alert{Kind: workflow.AlertCircuitBreaker, Subject: t.Reason + ": " + does,
		Text: fmt.Sprintf("breakers list shows the attempts, breakers reset %d closes it.", t.ID)})
	if err != nil || t.Action != workflow.BreakerPause {
		tx.Delayed(t.UntilMS)
		tx.Ready(r.WorkflowID) // the scheduler plans again
		return err
	}
	if text, err = json.Marshal(t); err != nil { // it needs the id of the trip
		return err
	}
	_, err = core.HoldClaims(tx, r, hold.ClaimHold{Kind: hold.HoldBreaker, Name: HoldOfTrip(&t), Reason: t.Reason, Evidence: text, UntilMS: t.UntilMS})
	return err
}

// HoldOfTrip returns the name of the claim hold that an open breaker causes.
func HoldOfTrip(t *workflow.BreakerTrip) string {
	return strings.TrimSuffix(t.Breaker+"/"+t.Subject, "/")
}

// BreakerEvent logs that a breaker opened or was closed.
func BreakerEvent(tx *core.Tx, workflowID int64, kind workflow.EventType, t workflow.BreakerTrip) error {
	p := workflow.BreakerPayload{Category: event.CategoryWorkflow, BreakerTrip: t, CategoryOfFailure: t.Category}
	severity := event.SeverityWarning
	if kind == workflow.EventBreakerClosed {
		severity = event.SeverityInfo
	}
	return tx.Event(workflowID, string(kind), severity, p)
}

// OpenTrips returns the open breakers. They are cached across use cases, so that nothing is
// read until one opens.
func OpenTrips(tx *core.Tx) ([]workflow.BreakerTrip, error) {
	if tx.Shared.Breakers == nil {
		open, err := sqlite.Select(tx, row.ScanTrip, `SELECT `+row.TripColumns+` FROM breaker_trip WHERE ended_ms = 0 AND until_ms > ? ORDER BY +id`, tx.NowMS)
		if err != nil {
			return nil, fmt.Errorf("read open circuit breakers: %w", err)
		}
		tx.Shared.Breakers = append([]workflow.BreakerTrip{}, open...)
		tx.Cache()
	}
	tx.Shared.Breakers = slices.DeleteFunc(tx.Shared.Breakers, func(t workflow.BreakerTrip) bool { return t.UntilMS <= tx.NowMS })
	return tx.Shared.Breakers, nil
}

// TripsOf returns the open breakers that affect a run.
func TripsOf(tx *core.Tx, r *view.Run) (trips []workflow.BreakerTrip, err error) {
	open, err := OpenTrips(tx)
	if err != nil {
		return nil, err
	}
	for _, t := range open {
		if t.WorkflowID == 0 || t.WorkflowID == r.WorkflowID && t.RunID == r.RunID {
			trips = append(trips, t)
		}
	}
	return trips, nil
}
