package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// addDoubtful adds the attempts of the run for which it is uncertain whether the kernel
// killed one of their processes.
func (r *report) addDoubtful(ctx context.Context, c *cli.Connection) error {
	for e, err := range c.Events.List(ctx, client.EventFilter{WorkflowID: r.WorkflowID, Category: event.CategoryMemory}) {
		if err != nil {
			return err
		}
		var p event.OOMDoubtfulPayload
		if e.EventType == nil || *e.EventType != string(workflow.EventOOMDoubtful) || json.Unmarshal(e.Data, &p) != nil || p.RunID != r.RunID {
			continue // a user's own event may have the same category
		}
		if len(r.OOMDoubtful) == reportedFailures {
			r.MoreOOMDoubtful++
			continue
		}
		r.OOMDoubtful = append(r.OOMDoubtful, p)
	}
	return nil
}

func (r *report) writeDoubtful(w io.Writer) {
	if len(r.OOMDoubtful) == 0 {
		return
	}
	fmt.Fprintln(w, "The kernel killed processes for lack of memory; whose is uncertain:")
	for _, p := range r.OOMDoubtful {
		if p.JobID == 0 {
			fmt.Fprintf(w, "  allocation %d: %s\n", p.AllocationID, cli.Printable(p.Text))
			continue
		}
		fmt.Fprintf(w, "  %s (job %d, attempt %d): %s, %s\n", cli.Printable(p.JobName), p.JobID, p.AttemptID, p.Status, cli.Printable(p.Text))
	}
	if r.MoreOOMDoubtful > 0 {
		fmt.Fprintf(w, "  and %d more\n", r.MoreOOMDoubtful)
	}
}
