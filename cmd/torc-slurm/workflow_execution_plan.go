package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// executionPlan is what workflows execution-plan says in JSON.
type executionPlan struct {
	WorkflowID   *int64               `json:"workflow_id,omitempty"`
	WorkflowName string               `json:"workflow_name"`
	TotalJobs    int                  `json:"total_jobs"`
	Events       []workflow.PlanEvent `json:"events"`
}

func newWorkflowsExecutionPlanCommand(a *app) *cobra.Command {
	var flags specFlags
	cmd := &cobra.Command{
		Use:   "execution-plan SPEC|WORKFLOW",
		Short: "Show in which order jobs become ready",
		Long: `Show in which order the jobs of a specification or of a workflow become ready:
the start, and then each set of jobs whose end lets others go on, with the
allocations that are asked for at that moment.`,
		Example: `  torc-slurm workflows execution-plan sweep.yaml
  torc-slurm -f json workflows execution-plan 12 | jq '.events[].id'`,
		Args:              cobra.ExactArgs(1),
		Annotations:       serverExits(exitInvalidSpec),
		ValidArgsFunction: a.completeSpecOrWorkflow,
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := a.planOf(cmd.Context(), args[0], flags)
			if err != nil {
				return err
			}
			return a.showRecord(plan, func(w io.Writer) { plan.write(w) })
		},
	}
	cmd.Flags().BoolVar(&flags.skipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers")
	return cmd
}

func (a *app) planOf(ctx context.Context, ref string, flags specFlags) (*executionPlan, error) {
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil || id < 1 || a.exists(ref) {
		loaded, err := a.loadSpec(ref, flags)
		if err != nil {
			return nil, err
		}
		return newExecutionPlan(nil, loaded.Definition), nil
	}
	c, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	d, err := readDocument(ctx, c, id)
	if err != nil {
		return nil, err
	}
	def, err := d.definition()
	if err != nil {
		return nil, fmt.Errorf("plan workflow %d: %w", id, err)
	}
	return newExecutionPlan(&id, def), nil
}

func newExecutionPlan(id *int64, d *workflow.Definition) *executionPlan {
	return &executionPlan{WorkflowID: id, WorkflowName: d.Name, TotalJobs: len(d.Jobs), Events: workflow.ExecutionPlan(d)}
}

// write draws the plan: the moments, below each what it does.
func (p *executionPlan) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, %s\n", printable(p.WorkflowName),
		workflow.CountOf(int64(p.TotalJobs), "job", "jobs"), workflow.CountOf(int64(len(p.Events)), "event", "events"))
	for i, e := range p.Events {
		branch, stem := "├─", "│ "
		if i == len(p.Events)-1 {
			branch, stem = "└─", "  "
		}
		fmt.Fprintf(w, "%s %s: %s\n", branch, printable(e.ID), printable(e.TriggerDescription))
		for _, allocation := range e.SchedulerAllocations {
			fmt.Fprintf(w, "%s   asks for %s of %s (%s)\n", stem,
				workflow.CountOf(allocation.NumAllocations, "allocation", "allocations"), allocation.Scheduler, allocation.SchedulerType)
		}
		if n := len(e.JobsBecomingReady); n > 0 {
			fmt.Fprintf(w, "%s   ready: %s\n", stem, printable(firstNames(e.JobsBecomingReady)))
		}
		if len(e.UnlocksEvents) > 0 {
			fmt.Fprintf(w, "%s   then:  %s\n", stem, printable(firstNames(e.UnlocksEvents)))
		}
	}
}
