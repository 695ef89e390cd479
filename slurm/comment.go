package slurm

import (
	"context"
	"strings"
)

// SetComment replaces a job's comment, which squeue shows. It is an optional call:
// withheld when half of the budget is spent.
func (c *Client) SetComment(ctx context.Context, id JobID, comment string) error {
	comment = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, comment)
	_, err := c.call(ctx, Command{Program: Scontrol, Args: []string{"update", "JobId=" + id.String(), "Comment=" + comment}}, optionalCall)
	return err
}
