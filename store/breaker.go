package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// brokenBy is a breaker that a failure counts for, with what it is counted under.
type brokenBy struct {
	breaker *workflow.CircuitBreaker
	ofNodes bool // the one for the nodes of all workflows
	subject string
}

// maxTripAttempts is how many of the attempts that opened a breaker are named.
const maxTripAttempts = 10

// noteFailure notes which breakers an attempt without success counts for.
func (f *finisher) noteFailure(failure *workflow.Failure) error {
	policy, err := f.run.policy()
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
	settings, err := policySource{f.tx.row}.settings()
	if err != nil {
		return err
	}
	if b, on := settings.NodeBreaker.Breaker(); on {
		note(&b, true)
	}
	return nil
}

// tripBreakers opens the breakers for which enough attempts have failed.
func (f *finisher) tripBreakers() error {
	broken := f.broken
	f.broken = nil
	for _, b := range broken {
		if err := f.tripBreaker(b); err != nil {
			return fmt.Errorf("circuit breaker %s of workflow %d: %w", b.breaker.Key(), f.run.workflowID, err)
		}
	}
	return nil
}

func (f *finisher) tripBreaker(b brokenBy) error {
	tx := f.tx
	workflowID := sql.NullInt64{Int64: f.run.workflowID, Valid: !b.ofNodes}
	var lastEnd int64 // of the last trip; later than now while that is open
	err := tx.row(`SELECT COALESCE(MAX(iif(ended_ms = 0, until_ms, ended_ms)), 0) FROM breaker_trip WHERE workflow_id IS ? AND breaker = ? AND subject = ?
		AND (? OR run_id = ?)`, []any{workflowID, b.breaker.Key(), b.subject, b.ofNodes, f.run.runID}, &lastEnd)
	if err != nil || lastEnd > tx.nowMS {
		return err
	}
	since := max(lastEnd, tx.nowMS-b.breaker.Window().Milliseconds())
	n, attempts, err := tx.countBroken(f.run, b, since)
	if err != nil || n < b.breaker.Threshold {
		return err
	}
	trip := b.breaker.NewTrip(b.subject, attempts, n, tx.nowMS)
	if trip.RunID = f.run.runID; !b.ofNodes {
		trip.WorkflowID = f.run.workflowID
	}
	return tx.openBreaker(f.run, trip)
}

// countBroken counts the attempts that have failed since a time and that a breaker
// is about, and returns the latest few. Of the breaker for all nodes, what a
// runner took with it when it was lost is one failure.
func (tx *Tx) countBroken(r *run, b brokenBy, sinceMS int64) (n int64, attempts []workflow.TripAttempt, err error) {
	// What was taken from a job, never began, or failed because jobs of it did is none.
	const ownFailure = ` AND cause NOT IN ('preempted', 'sub_workflow') AND NOT (cause = 'walltime' AND json_extract(evidence, '$.killed_by') IS 'drain')
		AND (compute_node_id IS NOT NULL OR start_ms IS NOT NULL)`
	condition, args := `workflow_id = ? AND run_id = ? AND status IN (6, 8) AND end_ms > ?`+ownFailure, []any{r.workflowID, r.runID, sinceMS}
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
	if err := tx.row(`SELECT `+counted+` FROM attempt WHERE `+condition, args, &n); err != nil || n < b.breaker.Threshold {
		return n, nil, err
	}
	err = tx.each(`SELECT workflow_id, job_id, attempt_id, COALESCE(hostname, ''), cause, end_ms FROM attempt WHERE `+condition+`
		ORDER BY end_ms DESC, job_id DESC LIMIT `+strconv.Itoa(maxTripAttempts), func(row rowScanner) error {
		var a workflow.TripAttempt
		err := row.Scan(&a.WorkflowID, &a.JobID, &a.AttemptID, &a.Node, &a.Cause, &a.EndedMS)
		attempts = append(attempts, a)
		return err
	}, args...)
	return n, attempts, err
}

// openBreaker stores a trip, and does what it is for.
func (tx *Tx) openBreaker(r *run, t workflow.BreakerTrip) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	var workflowID any
	if t.WorkflowID != 0 {
		workflowID = t.WorkflowID
	}
	t.ID, err = tx.insert(`INSERT INTO breaker_trip (workflow_id, run_id, breaker, subject, action, trip, since_ms, until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		workflowID, t.RunID, t.Breaker, t.Subject, string(t.Action), string(text), t.SinceMS, t.UntilMS)
	if err != nil {
		return err
	}
	tx.w.breakers = nil
	if err := tx.breakerEvent(r.workflowID, workflow.EventBreakerOpened, t); err != nil {
		return err
	}
	does := map[workflow.BreakerAction]string{
		workflow.BreakerExcludeNode: "no further job is given to " + t.Subject, workflow.BreakerPause: "no further job is claimed",
		workflow.BreakerHold: "such failures wait for a classification instead of a retry",
	}[t.Action]
	err = tx.alert(r, workflow.Alert{Kind: workflow.AlertCircuitBreaker, Subject: t.Reason + ": " + does,
		Text: fmt.Sprintf("breakers list shows the attempts, breakers reset %d closes it.", t.ID)})
	if err != nil || t.Action != workflow.BreakerPause {
		tx.delayed(t.UntilMS)
		tx.ready(r.workflowID) // who asks for allocations looks again
		return err
	}
	if text, err = json.Marshal(t); err != nil { // with its id
		return err
	}
	_, err = tx.holdClaims(r, workflow.ClaimHold{Kind: workflow.HoldBreaker, Name: holdOfTrip(&t), Reason: t.Reason, Evidence: text, UntilMS: t.UntilMS})
	return err
}

func holdOfTrip(t *workflow.BreakerTrip) string {
	return strings.TrimSuffix(t.Breaker+"/"+t.Subject, "/")
}

func (tx *Tx) breakerEvent(workflowID int64, kind workflow.EventType, t workflow.BreakerTrip) error {
	p := workflow.BreakerPayload{Category: workflow.CategoryWorkflow, BreakerTrip: t, CategoryOfFailure: t.Category}
	severity := workflow.SeverityWarning
	if kind == workflow.EventBreakerClosed {
		severity = workflow.SeverityInfo
	}
	return tx.event(workflowID, string(kind), severity, p)
}

const tripColumns = `id, COALESCE(workflow_id, 0), run_id, trip, since_ms, until_ms, ended_ms, ended_why`

func scanTrip(r rowScanner) (t workflow.BreakerTrip, err error) {
	var id, workflowID, runID, since, until, ended int64
	var text, why string
	if err := r.Scan(&id, &workflowID, &runID, &text, &since, &until, &ended, &why); err != nil {
		return t, err
	}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, fmt.Errorf("read trip %d of a circuit breaker: %w", id, err)
	}
	t.ID, t.WorkflowID, t.RunID, t.SinceMS, t.UntilMS, t.EndedMS, t.EndedWhy = id, workflowID, runID, since, until, ended, why
	return t, nil
}

// openTrips are the breakers that are open. They are kept from one use case to
// the next: nothing is read as long as none opens.
func (tx *Tx) openTrips() ([]workflow.BreakerTrip, error) {
	if tx.w.breakers == nil {
		rows, err := tx.query(`SELECT `+tripColumns+` FROM breaker_trip WHERE ended_ms = 0 AND until_ms > ? ORDER BY +id`, tx.nowMS)
		if err != nil {
			return nil, fmt.Errorf("read open circuit breakers: %w", err)
		}
		open, err := collect(rows, scanTrip)
		if err != nil {
			return nil, fmt.Errorf("read open circuit breakers: %w", err)
		}
		tx.w.breakers, tx.kept = append([]workflow.BreakerTrip{}, open...), true
	}
	tx.w.breakers = slices.DeleteFunc(tx.w.breakers, func(t workflow.BreakerTrip) bool { return t.UntilMS <= tx.nowMS })
	return tx.w.breakers, nil
}

// tripFor returns the first open breaker that a run is subject to and that a
// function picks; nil if there is none.
func (tx *Tx) tripFor(r *run, pick func(t *workflow.BreakerTrip) bool) (*workflow.BreakerTrip, error) {
	open, err := tx.openTrips()
	if err != nil {
		return nil, err
	}
	for i := range open {
		t := &open[i]
		if (t.WorkflowID == 0 || t.WorkflowID == r.workflowID && t.RunID == r.runID) && pick(t) {
			return t, nil
		}
	}
	return nil, nil
}

// keptFrom returns the breaker that keeps a runner from jobs, because of the node
// that it is on; nil if none does. It gives way where there is no other node: to a
// runner in an allocation that was asked for since, for Slurm was told to leave the
// node out if it could, and elsewhere to the only runner.
func (c *conversation) keptFrom() (*workflow.BreakerTrip, error) {
	ofNode := func(t *workflow.BreakerTrip) bool {
		return t.Action == workflow.BreakerExcludeNode && t.Subject == c.runner.hostname
	}
	trip, err := c.tx.tripFor(c.run, ofNode)
	if err != nil || trip == nil {
		return nil, err
	}
	a, err := c.allocation()
	if err != nil {
		return nil, err
	}
	if a != nil {
		return c.tx.tripFor(c.run, func(t *workflow.BreakerTrip) bool { return ofNode(t) && a.AskedMS <= t.SinceMS })
	}
	var one int
	err = c.tx.row(`SELECT 1 FROM compute_node WHERE workflow_id = ? AND is_active = 1 AND hostname != ? LIMIT 1`, []any{c.run.workflowID, c.runner.hostname}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return trip, err
}
