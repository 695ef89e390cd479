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

// torcRunnerFlags are the flags of torc-slurm-job-runner.
type torcRunnerFlags struct {
	allocationFlags
	healthyMinutes int64
	startupDelay   int64
	pollInterval   float64
	claimBackoff   float64
}

// NewTorc returns the command that torc's clients start as a runner in an allocation.
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
	f.BoolVar(&flags.isolated, "is-subtask", false, "each node of the allocation has a runner")
	f.BoolVar(&flags.persistent, "persistent", false, "keep running while jobs that fit here may still become ready")
	f.Int64Var(&flags.healthyMinutes, "wait-for-healthy-database-minutes", int64(defaultPatience/time.Minute), "how many `MINUTES` to wait at the start for a server that does not answer")
	f.Int64Var(&flags.startupDelay, "startup-delay-seconds", 0, "start after a delay of up to `SECONDS` that differs between runners")
	f.Float64VarP(&flags.pollInterval, "poll-interval", "p", 0, "accepted for compatibility: jobs are handed out without polling")
	f.Float64Var(&flags.claimBackoff, "claim-backoff-max-secs", 0, "accepted for compatibility")
	return c
}

// TorcName is the name of torc's program, and of the command that replaces it.
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
	version, err := awaitServer(ctx, c, flags.patience, a.Log)
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

// staggered waits for less than the given seconds; how long depends on the process. It returns
// the cause if ctx ends first.
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

// scheduledRow is torc's record of the allocation. It is nil if there is none, or if this
// runner is not on the first node.
type scheduledRow struct {
	client  *client.Client
	options *runner.Options
	row     api.ScheduledComputeNode
}

// scheduledAs returns the record of the allocation, after it has set the scheduler of the
// record in the runner's options and marked the record as active. It returns nil, and logs
// why, if the allocation has no record.
func scheduledAs(ctx context.Context, c *client.Client, o *runner.Options, place *runner.Place) *scheduledRow {
	var rows []api.ScheduledComputeNode
	filter := client.ScheduledComputeNodeFilter{WorkflowID: o.WorkflowID, SchedulerID: strconv.FormatInt(place.JobID, 10)}
	for row, err := range c.ScheduledComputeNodes.List(ctx, filter) {
		if err != nil {
			o.Log.Warn("cannot read the record of the allocation", "slurm_job_id", place.JobID, "error", err)
			return nil
		}
		rows = append(rows, row)
	}
	if len(rows) != 1 {
		o.Log.Warn("the allocation does not have exactly one record", "slurm_job_id", place.JobID, "records", len(rows))
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

// set changes the status of the record, if there is one. A failure is only logged.
func (s *scheduledRow) set(ctx context.Context, status string) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endQueryTimeout)
	defer cancel()
	s.row.Status = status
	if err := s.client.ScheduledComputeNodes.Update(ctx, &s.row); err != nil {
		s.options.Log.Warn("cannot update the record of the allocation", "status", status, "error", err)
	}
}
