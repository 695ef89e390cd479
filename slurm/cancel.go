package slurm

import (
	"context"
	"errors"
)

// Cancel cancels jobs in one call. A job that has already ended is not an error. Only a
// later poll shows whether the jobs have ended.
func (c *Client) Cancel(ctx context.Context, ids ...JobID) error {
	return c.scancel(ctx, ids)
}

// Signal sends a signal ("USR1", "TERM") to all steps of jobs, without the batch
// script; with batch only to the script's shell.
func (c *Client) Signal(ctx context.Context, signal string, batch bool, ids ...JobID) error {
	args := []string{"--signal=" + signal}
	if batch {
		args = append(args, "--batch")
	}
	return c.scancel(ctx, ids, args...)
}

func (c *Client) scancel(ctx context.Context, ids []JobID, args ...string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		args = append(args, id.String())
	}
	return present(c.call(ctx, Command{Program: Scancel, Args: args}, requiredCall))
}

// present returns nil for an error that says that the job has ended.
func present(_ Output, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Class == NotFound {
		return nil
	}
	return err
}
