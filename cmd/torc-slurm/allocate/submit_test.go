package allocate

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func TestNoAllocation(t *testing.T) {
	a := &cli.Factory{}
	a.Flags.Standalone = true
	if err := NoAllocation(a, &api.SchedulePlan{}); err != nil {
		t.Error(err)
	}
	err := NoAllocation(a, &api.SchedulePlan{NoAllocation: &api.Obstacle{Message: "too large", Hint: "`torc-slurm submit 7` again"}})
	message, hint := cli.ErrorText(err)
	if cli.ExitStatus(err) != cli.ExitFailed || message != "too large" || hint != "`torc-slurm -s submit 7` again" {
		t.Errorf("%q, %q with status %d", message, hint, cli.ExitStatus(err))
	}
}

func TestWhatHappens(t *testing.T) {
	for _, tt := range []struct {
		plan api.SchedulePlan
		want string
	}{
		{api.SchedulePlan{Requested: []api.Allocation{{SlurmJobID: 812}, {}}, LaterActions: 1}, "Requested 2 allocations from Slurm: 812, (not yet known); 1 action requests more later."},
		{api.SchedulePlan{AutoSchedule: true, RequestsMore: true, Waits: []api.ScheduleWait{{Reason: "the quota is used"}}}, "Nothing is requested from Slurm now: the quota is used; the daemon requests more when ready jobs do not fit existing allocations."},
		{api.SchedulePlan{Refusals: []api.ScheduleRefusal{{Class: "ambiguous"}}, LaterActions: 2}, "Slurm gave no clear answer, and the daemon checks whether it has the job; 2 actions request more later."},
		{api.SchedulePlan{RequestsMore: true, Refusals: []api.ScheduleRefusal{{Class: "temporary"}}}, "Slurm rejects the request for now, and the daemon tries again; for jobs that are retried or lose their allocation, the daemon requests others of the same scheduler."},
	} {
		if got := whatHappens(&tt.plan); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

// submit is a command that submits workflow 7 to a partition.
func submit(a *cli.Factory) *cobra.Command {
	return &cobra.Command{Use: "submit", RunE: func(c *cobra.Command, _ []string) error {
		conn, err := a.Connect(c.Context())
		if err != nil {
			return err
		}
		return Submit(c.Context(), a, conn, 7, &api.SubmitRequest{OutputDir: "/out", Partition: "short"})
	}}
}

func TestSubmit(t *testing.T) {
	requests := []string{`POST /workflows/7/submit {"output_dir":"/out","account":"ours","partition":"short"}`}
	clitest.Check(
		t, submit,
		clitest.Case{
			Args: "submit", Environ: []string{"SBATCH_ACCOUNT=ours", "SBATCH_PARTITION=long"},
			Routes: clitest.Routes{
				"POST /workflows/7/submit": {Body: api.SchedulePlan{
					Planned: []api.PlannedAllocations{{}}, Requested: []api.Allocation{{SlurmJobID: 812}}, Rejected: []string{"one more: the limit of jobs"},
					ReadyJobs: []api.ScheduledJobs{{Ready: 3, Uncovered: 1, Reason: "too large"}}, Unfit: []api.UnfitJobs{{Text: "job a needs 9 GPUs"}},
				}},
			},
			Want: clitest.Result{
				Stdout: "Successfully submitted workflow 7 (1 allocation)\nRequested 1 allocation from Slurm: 812.\n" +
					"`torc-slurm status 7` says how far it is, `torc-slurm sq` what Slurm does, `torc-slurm why JOB` why a job is where it is.\n" +
					"Rejected: one more: the limit of jobs\n1 ready job without an allocation: too large\n",
				Stderr: "warning: never runs: job a needs 9 GPUs\nwarning: --account, --partition and --qos have no effect: " +
					"the specification has schedule_nodes actions, whose Slurm schedulers say where\n",
				Requests: requests,
			},
		},
	)
}

// review is a command that tells of pending actions of workflow 7; -v suppresses them.
func review(a *cli.Factory) *cobra.Command {
	return &cobra.Command{Use: "review", RunE: func(c *cobra.Command, args []string) error {
		conn, err := a.Connect(c.Context())
		if err != nil {
			return err
		}
		goOn, err := ReviewPending(c.Context(), a, conn, 7, len(args) > 0, false)
		if err != nil {
			return err
		}
		return a.ShowMessage(goOn, "%v", goOn)
	}}
}

func TestReviewPending(t *testing.T) {
	const (
		actions = `[{"id": 3, "workflow_id": 7, "trigger_type": "on_workflow_start", "action_type": "schedule_nodes", "action_config": {"num_allocations": 2}, "status": "pending"},
			{"id": 4, "workflow_id": 7, "trigger_type": "on_workflow_start", "action_type": "schedule_nodes", "action_config": {}, "executed": true, "status": "executed"},
			{"id": 5, "workflow_id": 7, "trigger_type": "on_workflow_start", "action_type": "run_commands", "action_config": {}, "status": "pending"}]`
		note     = "1 action of workflow 7 will ask for allocations as well:\n  action 3 (on_workflow_start): 2 allocations\n"
		question = note + "[s]uppress them, [p]roceed, [c]ancel: "
		get      = "GET /workflows/7/actions"
		suppress = "POST /workflows/7/actions/3/claim"
	)
	routes := clitest.Routes{get: {Body: actions}, suppress: {Body: `{"action_id": 3, "success": true}`}}
	clitest.Check(
		t, review,
		clitest.Case{Args: "review", Routes: clitest.Routes{get: {Body: `[]`}}, Want: clitest.Result{Stdout: "true\n", Requests: []string{get}}},
		clitest.Case{Args: "review", Routes: routes, Want: clitest.Result{Stdout: "true\n", Stderr: note, Requests: []string{get}}},
		clitest.Case{Args: "review", Routes: routes, Terminal: 80, Stdin: "p\n", Want: clitest.Result{Stdout: "true\n", Stderr: question, Requests: []string{get}}},
		clitest.Case{Args: "review", Routes: routes, Terminal: 80, Stdin: "\n", Want: clitest.Result{Stdout: "false\n", Stderr: question + "Nothing was done.\n", Requests: []string{get}}},
		clitest.Case{Args: "review", Routes: routes, Terminal: 80, Stdin: "S\n", Want: clitest.Result{Stdout: "true\n", Stderr: question, Requests: []string{get, suppress + " {}"}}},
		clitest.Case{Args: "review all", Routes: routes, Want: clitest.Result{Stdout: "true\n", Requests: []string{get, suppress + " {}"}}},
	)
}
