package run

import (
	"context"
	"fmt"
	"io"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// unfitJobs are ready jobs with the same requirements that the runner of this run could never
// run.
type unfitJobs struct {
	Name string `json:"name"` // of the first
	Jobs int64  `json:"jobs"`
	Text string `json:"text"` // what they need, and what there is
}

// maxUnfitChecked is how many ready jobs are checked.
const maxUnfitChecked = 1000

// addUnfit adds the ready jobs that could never run on a runner that had the offer whole, and
// the number of those that could but did not start before its time was up. It adds nothing if
// there are other runners or allocations, which may run these jobs.
func (r *report) addUnfit(ctx context.Context, c *cli.Connection, status *api.WorkflowStatus, whole placement.Offer) error {
	if r.Status != "unfinished" || len(whole.Nodes) == 0 || status.ActiveComputeNodes+status.ActiveScheduledNodes+status.PendingScheduledNodes > 0 {
		return nil
	}
	all, err := apidata.RequirementsByID(ctx, c, r.WorkflowID)
	if err != nil {
		return err
	}
	found := map[int64]int{} // index in r.Unfit by requirements
	for job, err := range c.Jobs.List(ctx, client.JobFilter{WorkflowID: r.WorkflowID, Status: new(workflow.Ready), Page: client.Page{Limit: maxUnfitChecked}}) {
		if err != nil {
			return err
		}
		id := cli.OrZero(job.ResourceRequirementsID)
		class := placement.Class{CPUs: 1}
		if q, has := all[id]; has {
			if class, err = classOf(&q); err != nil {
				return err
			}
		}
		text := placement.WhyTooLarge(class, whole)
		switch i, known := found[id]; {
		case known:
			r.Unfit[i].Jobs++
		case text != "":
			found[id] = len(r.Unfit)
			r.Unfit = append(r.Unfit, unfitJobs{Name: job.Name, Jobs: 1, Text: text})
		case whole.TimeLeftSeconds != nil:
			r.NotStarted++
		}
	}
	return nil
}

// classOf returns what jobs with some requirements need, or an error if memory or runtime is
// not valid.
func classOf(q *api.ResourceRequirements) (placement.Class, error) {
	memory, err := workflow.ParseMemory(cli.OrEmpty(q.Memory))
	if err != nil {
		return placement.Class{}, fmt.Errorf("resource requirements %s: %w", q.Name, err)
	}
	runtime, err := workflow.ParseRuntime(cli.OrEmpty(q.Runtime))
	if err != nil {
		return placement.Class{}, fmt.Errorf("resource requirements %s: %w", q.Name, err)
	}
	return placement.Class{CPUs: cli.OrZero(q.NumCPUs), GPUs: cli.OrZero(q.NumGPUs), Nodes: cli.OrZero(q.NumNodes), MemoryBytes: memory, RuntimeSeconds: runtime}, nil
}

func (r *report) writeUnfit(w io.Writer) {
	for _, u := range r.Unfit {
		more := ""
		if u.Jobs > 1 {
			more = fmt.Sprintf(" (and %d more)", u.Jobs-1)
		}
		fmt.Fprintf(w, "Cannot run here: %s%s %s\n", cli.Printable(u.Name), more, u.Text)
	}
	if r.NotStarted > 0 {
		fmt.Fprintf(w, "Not started before the time was up: %s\n", workflow.CountOf(r.NotStarted, "ready job", "ready jobs"))
	}
}
