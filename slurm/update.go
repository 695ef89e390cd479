package slurm

import (
	"context"
	"strings"
)

// SetPartitions lets a pending job start in any of several partitions. It keeps its
// place in the queue.
func (c *Client) SetPartitions(ctx context.Context, id JobID, names []string) error {
	_, err := c.call(ctx, Command{Program: Scontrol, Args: []string{"update", "JobId=" + id.String(), "Partition=" + strings.Join(names, ",")}}, requiredCall)
	return err
}
