package noderunner

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/jobgateway"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// torcRunnerFlags are those of torc's own runner in allocations.
type torcRunnerFlags struct {
	allocationFlags
	healthyMinutes int64
	startupDelay   int64
	pollInterval   float64
	claimBackoff   float64
}

// NewTorc makes the command that torc's clients start as a runner in an allocation.
func NewTorc(a *cli.Factory) *cobra.Command {
	var flags torcRunnerFlags
	c := &cobra.Command{
		Use:         TorcName + " URL WORKFLOW OUTPUT_DIR",
		Short:       "Run the jobs of a workflow in an allocation (batch scripts of torc start this)",
		Hidden:      true,
		Args:        cobra.ExactArgs(3),
		Annotations: cli.ServerExits("1 the runner failed; its log says why"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := cli.ParseID("workflow", args[1])
			if err != nil {
				return err
			}
			flags.workflow, flags.outputDir = id, args[2]
			return runTorcRunner(c.Context(), a, args[0], flags)
		},
	}
	f := c.Flags()
	addRunnerFlags(f, &flags.allocationFlags)
	f.BoolVar(&flags.isolated, "is-subtask", false, "there is a runner on each node")
	f.BoolVar(&flags.persistent, "persistent", false, "stay while jobs are left that may still become runnable here")
	f.Int64Var(&flags.healthyMinutes, "wait-for-healthy-database-minutes", int64(defaultPatience/time.Minute), "wait `MINUTES` at the start for a server that does not answer")
	f.Int64Var(&flags.startupDelay, "startup-delay-seconds", 0, "begin within so many `SECONDS`, at a time that differs from runner to runner")
	f.Float64VarP(&flags.pollInterval, "poll-interval", "p", 0, "accepted for compatibility: jobs are handed out without polling")
	f.Float64Var(&flags.claimBackoff, "claim-backoff-max-secs", 0, "accepted for compatibility")
	return c
}

// TorcName is the program's name, and that of the command.
const TorcName = "torc-slurm-job-runner"

func runTorcRunner(ctx context.Context, a *cli.Factory, address string, flags torcRunnerFlags) error {
	flags.killWait, flags.patience = defaultKillWait, time.Duration(max(0, flags.healthyMinutes))*time.Minute
	place, err := locateRunner(ctx, a, flags.allocationFlags)
	if err != nil {
		return err
	}
	if err := staggered(ctx, &place, flags.startupDelay); err != nil {
		return err
	}
	c, err := daemonlink.DialURL(a, address)
	if err != nil {
		return err
	}
	defer c.CloseIdle()
	version, err := arrive(ctx, c, flags.patience, a.Log)
	if err != nil {
		return fmt.Errorf("reach the server: %w", err)
	}
	options := allocationOptions(a, flags.allocationFlags, &place)
	options.Client, options.Actions, options.Accounts = c.Runners, c.Runners, c.Runners
	done, err := openOutput(a, version.Database, &options, &place)
	if err != nil {
		return err
	}
	defer done()
	jobs, err := jobgateway.Open(a, &options, c.Forward)
	if err != nil {
		return err
	}
	defer jobs.Close()
	others := openNodeGateways(a, &options, "--url", address)
	defer others.Close()
	row := scheduledAs(ctx, c.Client, &options, &place)
	err = serveAllocation(ctx, a, options)
	row.set(context.WithoutCancel(ctx), compute.ScheduledComplete)
	return err
}

// staggered waits for a part of so many seconds.
func staggered(ctx context.Context, place *runner.Place, seconds int64) error {
	if seconds <= 0 {
		return nil
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d %d", place.Nodes[0], place.JobID, place.NodeID, os.Getpid())
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(h.Sum64()%uint64(seconds)) * time.Second):
		return nil
	}
}

// scheduledRow is torc's record of the allocation; nil if there is none, or if
// this is not the runner on its first node.
type scheduledRow struct {
	client  *client.Client
	options *runner.Options
	row     api.ScheduledComputeNode
}

// scheduledAs finds the record of the allocation, which tells the scheduler that
// it belongs to, and notes that it is active.
func scheduledAs(ctx context.Context, c *client.Client, o *runner.Options, place *runner.Place) *scheduledRow {
	var rows []api.ScheduledComputeNode
	filter := client.ScheduledComputeNodeFilter{WorkflowID: o.WorkflowID, SchedulerID: strconv.FormatInt(place.JobID, 10)}
	for row, err := range c.ScheduledComputeNodes.List(ctx, filter) {
		if err != nil {
			o.Log.Warn("cannot look for the record of the allocation", "slurm_job_id", place.JobID, "error", err)
			return nil
		}
		rows = append(rows, row)
	}
	if len(rows) != 1 {
		o.Log.Warn("the allocation has no record of its own", "slurm_job_id", place.JobID, "records", len(rows))
		return nil
	}
	if id := rows[0].SchedulerConfigID; id != 0 {
		o.SchedulerConfigID = &id
	}
	if place.NodeID != 0 {
		return nil
	}
	s := &scheduledRow{c, o, rows[0]}
	s.set(ctx, compute.ScheduledActive)
	return s
}

// set changes the status of the record.
func (s *scheduledRow) set(ctx context.Context, status string) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	s.row.Status = status
	if err := s.client.ScheduledComputeNodes.Update(ctx, &s.row); err != nil {
		s.options.Log.Warn("cannot change the record of the allocation", "status", status, "error", err)
	}
}
