package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// answerTime is how long a turn may take beyond the wait that it requested.
const answerTime = 30 * time.Second

// Register registers a runner of a workflow. A repetition with the same key returns the
// same runner.
func (c Runners) Register(ctx context.Context, workflowID int64, req *lease.RegisterRequest) (*lease.RegisterResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var resp lease.RegisterResponse
	path := fmt.Sprintf("/workflows/%d/runners", workflowID)
	if err := c.do(repeatable(ctx), http.MethodPost, path, req, &resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// Turn exchanges reports and free resources of a runner for grants and orders of the
// daemon. It may be repeated.
func (c Runners) Turn(ctx context.Context, runnerID int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	wait := time.Duration(req.WaitSeconds * float64(time.Second))
	ctx, cancel := context.WithTimeout(ctx, wait+answerTime)
	defer cancel()
	var resp lease.TurnResponse
	path := fmt.Sprintf("/runners/%d/turn", runnerID)
	if err := c.do(repeatable(ctx), http.MethodPost, path, req, &resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// Leave deregisters a runner. It may be repeated.
func (c Runners) Leave(ctx context.Context, runnerID int64, req *lease.LeaveRequest) (*lease.LeaveResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var resp lease.LeaveResponse
	path := fmt.Sprintf("/runners/%d/leave", runnerID)
	if err := c.do(repeatable(ctx), http.MethodPost, path, req, &resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// AccountSteps reports Slurm's accounting of the attempts of a runner. It may be repeated.
func (c Runners) AccountSteps(ctx context.Context, runnerID int64, accounts *api.StepAccounts) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return c.do(repeatable(ctx), http.MethodPost, fmt.Sprintf("/runners/%d/steps", runnerID), accounts, nil)
}
