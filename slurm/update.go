package slurm

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// SetPartitions lets a pending job start in any of several partitions. It keeps its
// place in the queue.
func (c *Client) SetPartitions(ctx context.Context, id JobID, names []string) error {
	return c.update(ctx, id, "Partition="+strings.Join(names, ","))
}

// SetTimeLimit changes the time limit of a job, rounded up to a minute. A pending job
// keeps its place in the queue. Slurm rejects one above the limit of the partition, and
// users may not lengthen that of a running job (both Permanent). If the job has started
// meanwhile, a shorter limit applies to it too.
func (c *Client) SetTimeLimit(ctx context.Context, id JobID, limit time.Duration) error {
	if limit <= 0 || limit == Unlimited {
		return &Error{Program: Scontrol, Class: Permanent, Code: "ESLURM_INVALID_TIME_LIMIT", Text: fmt.Sprintf("%v is not a time limit for a job", limit)}
	}
	return c.update(ctx, id, "TimeLimit="+FormatDuration(limit))
}

// update changes a job. The call is never withheld.
func (c *Client) update(ctx context.Context, id JobID, change string) error {
	_, err := c.call(ctx, Command{Program: Scontrol, Args: []string{"update", "JobId=" + id.String(), change}}, requiredCall)
	return err
}
