package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

// failedWorkflowTimeout is how long the daemon may take to answer.
const failedWorkflowTimeout = 2 * time.Minute

// failedWorkflow is the file that tells the jobs of a compensation what failed. Jobs
// that are started at the same time wait until the first of them has written it.
type failedWorkflow struct {
	lock chan struct{} // held while it has an element
	path string        // empty until it is written
}

func newFailedWorkflow() failedWorkflow { return failedWorkflow{lock: make(chan struct{}, 1)} }

// file returns the path of the file, and writes it first if no job of this runner has
// needed it. The error is an unansweredError if the daemon does not answer.
func (f *failedWorkflow) file(r *Runner) (string, error) {
	f.lock <- struct{}{}
	defer func() { <-f.lock }()
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
	// Runners on other nodes may write the same file.
	if err := trustedfile.Write(path, append(text, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("write what failed: %w", err)
	}
	f.path = path
	return path, nil
}

// unansweredError says that the daemon did not answer the question what failed.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return "ask what failed: " + e.err.Error() }

func (e *unansweredError) Unwrap() error { return e.err }

// onUnanswered gives back a job of a compensation that could not be told what failed.
// It was not started, so it costs no attempt.
func (w *work) onUnanswered(a *attempt, err error) {
	w.runner.log.Warn("job returned", "job_id", a.grant.JobID, "error", err)
	w.release(a)
	delete(w.byJob, a.grant.JobID)
	if a.void {
		w.forget(a)
		return
	}
	w.runner.queue.discard(a)
}
