package engine

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// loss is the record of an attempt whose end is unknown, and whose job waits for its retry.
type loss struct {
	runnerID sql.NullInt64
	cause    workflow.CauseKind
	evidence workflow.Evidence
	decision workflow.Decision
	counts   sql.NullString // rule_counts of the job
	counted  int64
}

// supersede restores a job whose attempt was recorded as lost but is reported by its runner
// after all. Since nobody has claimed the job again, the record of the loss and its retry
// are removed, and the report is handled like any other. It returns false if the retry has
// started or the job has changed otherwise (docs/adr/0011).
func (f *Finisher) supersede(l *core.LeasedJob, rep *lease.Report) (bool, error) {
	k := rep.Evidence.KilledBy
	told := k == workflow.KilledByFence || k == workflow.KilledByCancel || k == workflow.KilledBySibling
	if f.Run.Canceled || f.Run.Ended || told || rep.Evidence.NeverStarted ||
		l.Status != workflow.Ready || l.Fence != rep.Fence || l.Attempt != rep.Attempt+1 {
		return false, nil
	}
	was, err := lossOf(f, rep)
	if err != nil || was == nil {
		return false, err
	}
	evidence := rep.Evidence
	if evidence.Slurm == nil {
		evidence.Slurm = was.evidence.Slurm
	}
	err = f.tx.Savepoint(func() error {
		if err := undoRetry(f, rep, was); err != nil {
			return err
		}
		return requireNoScript(f, l, rep, was.runnerID, evidence)
	})
	switch {
	case errors.Is(err, errScript):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("take back the loss of attempt %d of job %d: %w", rep.Attempt, rep.JobID, err)
	}
	rep.Evidence = evidence
	l.LeaseRef, l.Status, l.RunnerID = rep.LeaseRef, workflow.Running, was.runnerID
	l.Recovering, l.Canceling, l.CancelFor, l.Doom = false, false, "", retry.Doom{}
	return true, f.tx.Event(f.Run.WorkflowID, string(workflow.EventLossSuperseded), event.SeverityInfo, event.LossSupersededPayload{
		JobID: l.JobID, JobName: l.Name, RunID: f.Run.RunID, AttemptID: l.Attempt, Cause: was.cause,
	})
}

// errScript says that a recovery script would follow, but the runner that had the attempt
// is gone.
var errScript = errors.New("a recovery script would follow")

// requireNoScript returns errScript if a recovery script would follow a report.
func requireNoScript(f *Finisher, l *core.LeasedJob, rep *lease.Report, runner sql.NullInt64, evidence workflow.Evidence) error {
	codes, err := f.Run.ReturnCodes()
	if err != nil {
		return err
	}
	host, err := LoadHolder(f.tx, runner)
	if err != nil {
		return err
	}
	e := Ending{Cause: failure.Classify(evidence, codes, nil), Evidence: &evidence, EndMS: rep.EndedMS, Host: host}
	if !e.Cause.Status.IsUnsuccessful() {
		return nil
	}
	if err := f.categorize(&e); err != nil {
		return err
	}
	history := workflow.History{AttemptID: rep.Attempt}
	policies, err := f.Policies(rep.JobID, runner, &history)
	if err != nil {
		return err
	}
	// An open breaker or growth beyond the limits would also prevent the script, but this
	// need not be exact.
	if retry.Decide(retry.Facts{Policies: policies, History: history, Failure: e.failure(l)}).Action == workflow.ActionRecover {
		return errScript
	}
	return nil
}

// lossOf returns the record of the reported attempt if it is a loss that led to a retry;
// nil if not.
func lossOf(f *Finisher, rep *lease.Report) (*loss, error) {
	var was loss
	var evidence string
	err := f.tx.Row(`SELECT a.compute_node_id, a.cause, a.evidence, a.action, COALESCE(a.rule, ''), a.counted, j.rule_counts, j.counted_failures
		FROM attempt a JOIN job j ON j.id = a.job_id
		WHERE a.job_id = ? AND a.run_id = ? AND a.attempt_id = ? AND a.fence = ? AND a.action = 'retry'
			AND (json_extract(a.evidence, '$.lost_runner') = 1 OR json_extract(a.evidence, '$.silent') = 1)`,
		[]any{rep.JobID, f.Run.RunID, rep.Attempt, rep.Fence},
		&was.runnerID, &was.cause, &evidence, &was.decision.Action, &was.decision.Rule, &was.decision.Counted, &was.counts, &was.counted)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read attempt %d of job %d: %w", rep.Attempt, rep.JobID, err)
	}
	if err := json.Unmarshal([]byte(evidence), &was.evidence); err != nil {
		return nil, fmt.Errorf("read the evidence of attempt %d of job %d: %w", rep.Attempt, rep.JobID, err)
	}
	return &was, nil
}

// undoRetry undoes the consequences of a loss. Avoided nodes and requirements stay: the
// decision about the report sets them again if there is another attempt.
func undoRetry(f *Finisher, rep *lease.Report, was *loss) error {
	counts, err := row.ReadRuleCounts(was.counts)
	if err != nil {
		return err
	}
	used := counts[was.decision.Rule]
	if was.decision.Counted {
		used.Counted--
		was.counted--
	} else {
		used.Free--
	}
	if counts != nil {
		counts[was.decision.Rule] = used
		if used == (workflow.RuleCount{}) {
			delete(counts, was.decision.Rule)
		}
	}
	var text any
	if len(counts) > 0 {
		written, err := json.Marshal(counts)
		if err != nil {
			return err
		}
		text = string(written)
	}
	args := []any{rep.JobID, f.Run.RunID, rep.Attempt}
	for _, query := range []string{
		`DELETE FROM result WHERE job_id = ? AND run_id = ? AND attempt_id = ?`,
		`DELETE FROM attempt WHERE job_id = ? AND run_id = ? AND attempt_id = ?`,
	} {
		if _, err := f.tx.Exec(query, args...); err != nil {
			return err
		}
	}
	if err := supersedeJob(f.tx, f.Run.WorkflowID, rep, was, text); err != nil {
		return err
	}
	return f.tx.UncountCause(f.Run, was.cause, &was.decision)
}
