package runner

import (
	"context"
	"errors"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// registerWithRetry registers, and retries for Options.Patience while the daemon does
// not answer. It returns the last error.
func (r *Runner) registerWithRetry(ctx context.Context, req *lease.RegisterRequest) (*lease.RegisterResponse, error) {
	until := r.began.Add(r.opts.Patience)
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		resp, err := r.opts.Client.Register(ctx, r.opts.WorkflowID, req)
		var refusal *client.APIError
		if err == nil || errors.As(err, &refusal) && !isUnanswered(err) || !time.Now().Before(until) {
			return resp, err
		}
		r.log.Warn("the daemon does not answer", "error", err)
		pause := time.NewTimer(retryAfter(delay, r.opts.Random()))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, errors.Join(err, context.Cause(ctx))
		case <-r.stopping:
			pause.Stop()
			return nil, errors.Join(err, errors.New("told to stop while waiting for the daemon"))
		case <-pause.C:
		}
	}
}
