package slurmcmd

import (
	"context"
	"fmt"
	"io"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// proposeSchedule shows what a request for a number of allocations comes to.
func proposeSchedule(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags *scheduleFlags) error {
	scheduler, err := chooseScheduler(ctx, a, c, id, flags.schedulerID)
	if err != nil {
		return err
	}
	dir, err := flags.PathOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	answer, err := allocate.Create(ctx, c, id, flags.exactly(scheduler, dir))
	if err != nil {
		return err
	}
	if answer.Proposed == nil {
		return fmt.Errorf("the daemon returned no proposal for workflow %d", id)
	}
	return a.ShowRecord(answer, func(w io.Writer) {
		p := answer.Proposed
		fmt.Fprintf(w, "Would request %s of scheduler %s\n", workflow.CountOf(p.Count, "allocation", "allocations"), p.Pool)
		writeNodeHours(w, answer.NodeSeconds)
	})
}

// proposeDemand shows what would be requested for the ready jobs.
func proposeDemand(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags *scheduleFlags) error {
	start, err := c.Workflows.StartRun(ctx, id, &api.StartRunRequest{DryRun: true})
	if err != nil {
		return err
	}
	dir, err := flags.PathOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	plan, err := c.Workflows.Plan(ctx, id, flags.byDemand(a, dir))
	if err != nil {
		return fmt.Errorf("plan allocations of workflow %d: %w", id, err)
	}
	if start.Started {
		a.Note("A run would be started, which makes %s ready. The plan is for the jobs that are ready now.", workflow.CountOf(start.Ready, "job", "jobs"))
	}
	allocate.NoteFitness(a, plan)
	return a.ShowRecord(plan, func(w io.Writer) {
		for _, line := range plan.Text {
			fmt.Fprintln(w, line)
		}
		writeNodeHours(w, plan.NodeSeconds)
	})
}

// writeNodeHours shows the cost of allocations; nothing if they have no time limit.
func writeNodeHours(w io.Writer, nodeSeconds int64) {
	if nodeSeconds > 0 {
		fmt.Fprintf(w, "At most %.1f node-hours\n", float64(nodeSeconds)/3600)
	}
}
