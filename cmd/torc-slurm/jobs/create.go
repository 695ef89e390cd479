package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newCreate(a *cli.Factory) *cobra.Command {
	var (
		job                 api.Job
		requirements        int64
		blockedBy, in, outs []int64
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "create [WORKFLOW] --name NAME --command COMMAND",
		Short: "Add a job to a workflow",
		Long:  `Add a job to a workflow. It is uninitialized until "workflows init" or "run".`,
		Example: `  torc-slurm jobs create 12 -n merge -c './merge.sh' -b 41,42
  torc-slurm jobs create 12 -n look -c './look.sh' -i 7 -o 8 -r 3`,
	})
	cmd.RunE = a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		job.WorkflowID = id
		job.ResourceRequirementsID = cli.Given(cmd, "resource-requirements-id", requirements)
		job.DependsOnJobIDs, job.InputFileIDs, job.OutputFileIDs = blockedBy, in, outs
		created, err := c.Jobs.Create(ctx, &job)
		if err != nil {
			return err
		}
		return a.ShowMessage(created, "Created job %s", cli.OrEmpty(created.ID))
	})
	f := cmd.Flags()
	f.StringVarP(&job.Name, "name", "n", "", "name of the job")
	f.StringVarP(&job.Command, "command", "c", "", "command line of the job, run by bash")
	f.Int64VarP(&requirements, "resource-requirements-id", "r", 0, "resource requirements (default: those named default)")
	f.Int64SliceVarP(&blockedBy, "blocking-job-ids", "b", nil, "jobs that it waits for")
	f.Int64SliceVarP(&in, "input-file-ids", "i", nil, "files that it reads")
	f.Int64SliceVarP(&outs, "output-file-ids", "o", nil, "files that it writes")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("command")
	return cmd
}

func newCreateFromFile(a *cli.Factory) *cobra.Command {
	var (
		cpus            int64
		memory, runtime string
	)
	cmd := &cobra.Command{
		Use:   "create-from-file WORKFLOW FILE",
		Short: "Add a job for each line of a file of commands",
		Long: `Add a job for each line of a file, except empty lines and lines that begin with #.
The jobs are named job1, job2 and so on, after existing jobs with such names, and
share one set of resource requirements. All of them are added, or none.`,
		Example: `  torc-slurm jobs create-from-file 12 commands.txt
  seq 100 | sed 's/^/.\/sim /' | torc-slurm jobs create-from-file 12 - --memory-per-job 2g`,
		Args:              cobra.ExactArgs(2),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: a.CompleteWorkflowThenPath,
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		commands, err := specfile.ReadCommands(a, args[1])
		if err != nil {
			return err
		}
		if len(commands) == 0 {
			return cli.UsageErrorf("%s contains no commands", args[1])
		}
		rr := api.ResourceRequirements{NumCPUs: &cpus, Memory: &memory, Runtime: &runtime}
		if err := apidata.CheckRequirements(&rr); err != nil {
			return err
		}
		return a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
			rr.WorkflowID = id
			jobs, err := createJobs(ctx, c, rr, commands)
			if err != nil {
				return err
			}
			ids := make([]int64, len(jobs))
			for i, j := range jobs {
				ids[i] = cli.OrZero(j.ID)
			}
			return a.ShowMessage(struct {
				WorkflowID  int64   `json:"workflow_id"`
				JobsCreated int     `json:"jobs_created"`
				JobIDs      []int64 `json:"job_ids"`
			}{id, len(ids), ids}, "Created %s in workflow %d", workflow.CountOf(int64(len(ids)), "job", "jobs"), id)
		})(cmd, args[:1])
	}
	f := cmd.Flags()
	f.Int64Var(&cpus, "cpus-per-job", 1, "CPUs of each job")
	f.StringVar(&memory, "memory-per-job", "1m", "memory of each job")
	f.StringVar(&runtime, "runtime-per-job", "PT1M", "runtime of each job, ISO 8601")
	return cmd
}

// createJobs adds a job for each command, with new resource requirements that they share.
func createJobs(ctx context.Context, c *cli.Connection, rr api.ResourceRequirements, commands []string) ([]api.Job, error) {
	taken, err := numbersTaken(ctx, c, rr.WorkflowID)
	if err != nil {
		return nil, err
	}
	rr.Name = fmt.Sprintf("jobs_from_%d", taken+1)
	created, err := c.ResourceRequirements.Create(ctx, &rr)
	if err != nil {
		return nil, err
	}
	jobs := make([]api.Job, len(commands))
	for i, command := range commands {
		jobs[i] = api.Job{
			WorkflowID: rr.WorkflowID, Name: fmt.Sprintf("job%d", taken+int64(i)+1), Command: command,
			ResourceRequirementsID: created.ID,
		}
	}
	return c.Jobs.CreateAll(ctx, jobs)
}

// numbersTaken returns the highest n of the jobs named job<n>; 0 if there are none.
func numbersTaken(ctx context.Context, c *cli.Connection, workflowID int64) (int64, error) {
	highest := int64(0)
	for j, err := range c.Jobs.List(ctx, client.JobFilter{WorkflowID: workflowID}) {
		if err != nil {
			return 0, err
		}
		var n int64
		if rest, ok := strings.CutPrefix(j.Name, "job"); ok {
			if _, err := fmt.Sscanf(rest, "%d", &n); err == nil {
				highest = max(highest, n)
			}
		}
	}
	return highest, nil
}
