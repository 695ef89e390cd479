package slurm

import (
	"context"
	"errors"
)

// Cancel asks for the end of jobs in one call. Jobs that have ended already are
// no error. Whether they are gone only a later look can tell.
func (c *Client) Cancel(ctx context.Context, ids ...JobID) error {
	return c.scancel(ctx, ids)
}

// Signal sends a signal ("USR1", "TERM") to all steps of jobs, without the batch
// script; with batch to the script's shell alone.
func (c *Client) Signal(ctx context.Context, signal string, batch bool, ids ...JobID) error {
	args := []string{"--signal=" + signal}
	if batch {
		args = append(args, "--batch")
	}
	return c.scancel(ctx, ids, args...)
}

// CancelStep ends one step, or sends it a signal if that is not "".
func (c *Client) CancelStep(ctx context.Context, signal string, step StepID) error {
	args := []string{step.String()}
	if signal != "" {
		args = append([]string{"--signal=" + signal}, args...)
	}
	return present(c.call(ctx, Command{Program: Scancel, Args: args}, duty))
}

func (c *Client) scancel(ctx context.Context, ids []JobID, args ...string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		args = append(args, id.String())
	}
	return present(c.call(ctx, Command{Program: Scancel, Args: args}, duty))
}

// present drops the error that says that there is nothing to do.
func present(_ Output, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Class == NotFound {
		return nil
	}
	return err
}
