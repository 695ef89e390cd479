package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

// choosing is the help of commands that choose jobs.
const choosing = `
Jobs are chosen by name, by a pattern of names (quote it: 'sim_*'), or by id; a name
takes precedence over an id. --status, --cause (of the latest attempt) and --group (the
fingerprint of how it failed) choose, too; what is given must all match. Everything
happens at once. A job for which it is not possible is rejected, and the others change.
--dry-run shows what would happen.`

func newCancel(a *cli.Factory) *cobra.Command {
	return newOperation(a, operate.Cancel, &cobra.Command{
		Short: "Cancel jobs",
		Long: `Cancel jobs. Those that have not started are canceled at once. Those that run are ended by
their runners: the termination signal, the grace time, then a kill; one that completes
meanwhile is completed. None is repeated. The jobs that depend on them are canceled,
unless they run even then (run_if), and the run ends if no other job is left. "jobs
retry" gives canceled jobs another attempt. End jobs and compensations are not canceled.
` + choosing,
		Example: `  torc-slurm jobs cancel simulate_042 -w 12
  torc-slurm jobs cancel 'simulate_*' --status running -w 12 --dry-run
  torc-slurm jobs cancel --group 3f9a52c01b7e -w 12 --reason "the input is wrong"`,
	})
}

func newHold(a *cli.Factory) *cobra.Command {
	return newOperation(a, operate.Hold, &cobra.Command{
		Short: "Keep jobs from being claimed until they are released",
		Long: `Hold jobs that have not started: no runner claims them, and no allocation is requested
for them, until "jobs release". They keep their status; "why JOB" says who holds them.
This also keeps the jobs that depend on them waiting. Timeouts keep running.
` + choosing,
		Example: `  torc-slurm jobs hold 'simulate_*' -w 12 --reason "wait for the new mesh"
  torc-slurm jobs hold --cause oom --status ready -w 12`,
	})
}

func newRelease(a *cli.Factory) *cobra.Command {
	return newOperation(a, operate.Release, &cobra.Command{
		Short: "Release jobs that users hold",
		Long: `Let runners claim jobs again that were held with "jobs hold". Jobs that are held because
they failed (pending_failed) are not meant: "holds resolve" decides about those.
` + choosing,
		Example: `  torc-slurm jobs release 'simulate_*' -w 12
  torc-slurm jobs release --all -w 12`,
	})
}

func newPrioritize(a *cli.Factory) *cobra.Command {
	return newOperation(a, operate.Prioritize, &cobra.Command{
		Short: "Change the priority of jobs",
		Long: `Set the priority of jobs that have not ended, or have them precede all others (--first).
Runners claim ready jobs with a higher priority first. Jobs that run are not ended for
them.
` + choosing,
		Example: `  torc-slurm jobs prioritize calibration --first -w 12
  torc-slurm jobs prioritize 'simulate_*' --priority 5 -w 12`,
	})
}

// operation is a command that does something with chosen jobs.
type operation struct {
	app      *cli.Factory
	verb     operate.Verb
	workflow string
	statuses []string
	causes   []string
	priority int64
	request  api.JobPrioritization
}

func newOperation(a *cli.Factory, verb operate.Verb, c *cobra.Command) *cobra.Command {
	o := &operation{app: a, verb: verb}
	c.Use = string(verb) + " [JOB]..."
	c.Annotations = cli.ServerExits("1 some of the jobs that were named could not be "+verb.Past()+"; the others were",
		"3 the workflow or a job does not exist, or nothing matches", "5 none of the jobs could be "+verb.Past())
	complete := cli.CompleteJobs(a, &o.workflow)
	c.ValidArgsFunction = func(c *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return complete(c, nil, start)
	}
	f := c.Flags()
	f.StringSliceVar(&o.statuses, "status", nil, "only jobs in this status; may be repeated")
	f.StringSliceVar(&o.causes, "cause", nil, "only jobs whose latest attempt ended for this cause, such as oom; may be repeated")
	f.StringVar(&o.request.Group, "group", "", "only jobs that failed with this `FINGERPRINT`")
	f.BoolVar(&o.request.All, "all", false, "all jobs of the workflow")
	if verb == operate.Prioritize {
		f.Int64Var(&o.priority, "priority", 0, "the new priority")
		f.BoolVar(&o.request.First, "first", false, "a priority that precedes all other jobs")
		c.MarkFlagsOneRequired("priority", "first")
		c.MarkFlagsMutuallyExclusive("priority", "first")
	} else {
		f.StringVar(&o.request.Reason, "reason", "", "why, for why and the events")
	}
	f.BoolVar(&o.request.DryRun, "dry-run", false, "only show what would happen")
	cli.AddWorkflowFlag(a, c, &o.workflow)
	cli.CompleteWords(c, "status", apidata.StatusNames()...)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(cmd, args); err != nil {
			return err
		}
		return a.ServerCommand(func(ctx context.Context, conn *cli.Connection, _ []string) error { return o.run(ctx, conn) })(cmd, args)
	}
	return c
}

// check returns a usage error for what the server would reject.
func (o *operation) check(cmd *cobra.Command, args []string) error {
	q := &o.request
	for _, arg := range args {
		q.Jobs = append(q.Jobs, strings.Split(arg, ",")...)
	}
	for _, text := range o.statuses {
		s, err := apidata.ParseStatus(text)
		if err != nil {
			return err
		}
		q.Statuses = append(q.Statuses, s)
	}
	for _, text := range o.causes {
		c := workflow.CauseKind(text)
		if !slices.Contains(workflow.CauseKinds(), c) {
			names := make([]string, len(workflow.CauseKinds()))
			for i, k := range workflow.CauseKinds() {
				names[i] = string(k)
			}
			return cli.UsageErrorf("--cause %s: write one of %s", text, strings.Join(names, ", "))
		}
		q.Causes = append(q.Causes, c)
	}
	others := len(q.Jobs)+len(q.Statuses)+len(q.Causes) > 0 || q.Group != ""
	switch {
	case !others && !q.All:
		return cli.UsageErrorf("choose the jobs: by name or id, --status, --cause, --group or --all")
	case others && q.All:
		return cli.UsageErrorf("--all chooses all jobs; leave it out to choose some")
	}
	if cmd.Flags().Changed("priority") {
		if q.Priority = &o.priority; o.priority < 0 {
			return cli.UsageErrorf("--priority %d: it must not be negative", o.priority)
		}
	}
	return nil
}

func (o *operation) run(ctx context.Context, c *cli.Connection) error {
	id, err := o.workflowID(ctx, c)
	if err != nil {
		return err
	}
	out, err := c.Jobs.Operate(ctx, id, o.verb, &o.request)
	if err != nil {
		return cli.WithPrefix(o.app, err)
	}
	if err := o.app.ShowMessage(out, "%s", o.text(out)); err != nil {
		return err
	}
	if slices.ContainsFunc(out.Jobs, func(j api.OperatedJob) bool { return j.Named && j.Effect == operate.Rejected }) {
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}

// workflowID returns the workflow that was named, that of the first job if all are chosen by
// id, or the user's latest.
func (o *operation) workflowID(ctx context.Context, c *cli.Connection) (int64, error) {
	if o.workflow == "" && len(o.request.Jobs) > 0 {
		isID := func(ref string) bool { n, err := strconv.ParseInt(ref, 10, 64); return err == nil && n > 0 }
		if !slices.ContainsFunc(o.request.Jobs, func(ref string) bool { return !isID(ref) }) {
			id, err := cli.ParseID("job", o.request.Jobs[0])
			if err != nil {
				return 0, err
			}
			j, err := c.Jobs.Get(ctx, id)
			if err != nil {
				return 0, err
			}
			return j.WorkflowID, nil
		}
	}
	return o.app.LatestWorkflowID(ctx, c, o.workflow)
}

// shownReasons is how many different reasons are shown.
const shownReasons = 5

// text says what was done.
func (o *operation) text(out *api.JobsOperated) string {
	names := map[operate.Effect][]string{}
	for i := range out.Jobs {
		names[out.Jobs[i].Effect] = append(names[out.Jobs[i].Effect], out.Jobs[i].Name)
	}
	var lines []string
	say := func(list []string, one, many string) {
		if len(list) > 0 {
			lines = append(lines, workflow.CountOf(int64(len(list)), one, many)+": "+cli.FirstNames(list))
		}
	}
	now, later := "is "+o.verb.Past(), "are "+o.verb.Past()
	if out.DryRun {
		now, later = "would be "+o.verb.Past(), "would be "+o.verb.Past()
	}
	if p := out.Priority; p != nil {
		now, later = fmt.Sprintf("%s (%d)", now, *p), fmt.Sprintf("%s (%d)", later, *p)
	}
	say(names[operate.Changed], "job "+now, "jobs "+later)
	if out.DryRun {
		say(names[operate.Ending], "job would be ended by its runner", "jobs would be ended by their runners")
	} else {
		say(names[operate.Ending], "job is being ended by its runner", "jobs are being ended by their runners")
	}
	if n := len(names[operate.Changed]) + len(names[operate.Ending]); n == 0 {
		lines = append(lines, "Nothing changes")
	}
	dependents := map[workflow.JobStatus][]string{}
	for _, d := range out.Dependents {
		dependents[d.Status] = append(dependents[d.Status], d.Name)
	}
	say(dependents[workflow.Canceled], "job that depends on them is canceled with them", "jobs that depend on them are canceled with them")
	say(dependents[workflow.Disabled], "job is not needed then", "jobs are not needed then")
	if out.CPUSeconds > 0 {
		lines = append(lines, fmt.Sprintf("Lost, unless the jobs save it: %.1f CPU hours", float64(out.CPUSeconds)/3600))
	}
	if out.EndsRun {
		lines = append(lines, "The run ends with that: no other job is left")
	}
	lines = append(lines, reasons(out.Jobs, operate.Unchanged)...)
	return strings.Join(append(lines, reasons(out.Jobs, operate.Rejected)...), "\n")
}

// reasons returns why jobs did not change, a line for each reason.
func reasons(jobs []api.OperatedJob, effect operate.Effect) []string {
	byReason := map[string][]string{}
	var order []string
	for i := range jobs {
		j := &jobs[i]
		if j.Effect != effect {
			continue
		}
		if byReason[j.Reason] == nil {
			order = append(order, j.Reason)
		}
		byReason[j.Reason] = append(byReason[j.Reason], j.Name)
	}
	var lines []string
	for i, reason := range order {
		if i == shownReasons {
			lines = append(lines, fmt.Sprintf("and for %s", workflow.CountOf(int64(len(order)-i), "other reason", "other reasons")))
			break
		}
		list := byReason[reason]
		lines = append(lines, fmt.Sprintf("%s %s: %s: %s", workflow.CountOf(int64(len(list)), "job", "jobs"), effect, cli.FirstNames(list), reason))
	}
	return lines
}
