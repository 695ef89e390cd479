package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

// failedWorkflowTimeout is how long the daemon may take to say it.
const failedWorkflowTimeout = 2 * time.Minute

// failedWorkflow is the file with what the jobs of a compensation learn. The jobs
// that are started at the same time wait for the first of them to write it.
type failedWorkflow struct {
	turn chan struct{} // whoever has put something in may look at path
	path string        // once it is there
}

func newFailedWorkflow() failedWorkflow { return failedWorkflow{turn: make(chan struct{}, 1)} }

// file returns the path of the file, which is written for the first job of this
// runner that wants it.
func (f *failedWorkflow) file(r *Runner) (string, error) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	if f.path != "" {
		return f.path, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), failedWorkflowTimeout)
	defer cancel()
	failed, err := r.opts.Client.FailedWorkflow(ctx, r.opts.WorkflowID)
	if err != nil && isUnanswered(err) {
		return "", &unansweredError{err}
	}
	if err != nil {
		return "", fmt.Errorf("ask what failed: %w", err)
	}
	text, err := json.MarshalIndent(failed, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write what failed: %w", err)
	}
	path := filepath.Join(r.opts.OutputDir, fmt.Sprintf("failed_wf%d_r%d.json", failed.WorkflowID, failed.RunID))
	// Runners of other nodes may write the same file.
	if err := trustedfile.Write(path, append(text, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("write what failed: %w", err)
	}
	f.path = path
	return path, nil
}

// unansweredError says that the daemon did not tell what failed.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return "ask what failed: " + e.err.Error() }

func (e *unansweredError) Unwrap() error { return e.err }

// onUnanswered gives a job of a compensation back that could not learn what failed:
// it was not started, and costs no attempt.
func (w *work) onUnanswered(a *attempt, err error) {
	w.runner.log.Warn("job given back", "job_id", a.grant.JobID, "error", err)
	w.release(a)
	delete(w.byJob, a.grant.JobID)
	if a.void {
		w.forget(a)
		return
	}
	w.runner.queue.discard(a)
}
