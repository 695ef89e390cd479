package holds

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// holdFlags select held jobs and decide about them.
type holdFlags struct {
	jobs       []string
	file       string             // with a verdict for each
	verdicts   []spec.HoldVerdict // that it has
	retry      bool
	fail       bool
	resolution api.HoldResolution
}

func newResolve(a *cli.Factory) *cobra.Command {
	var flags holdFlags
	c := &cobra.Command{
		Use:   "resolve WORKFLOW",
		Short: "Decide about held jobs",
		Long: `Decide that held jobs get another attempt (--retry) or have failed (--fail). A job
can be retried in this way three times in a run. --memory, --runtime and --num-cpus apply
to the next attempts of the job only: jobs that share its resource requirements keep
theirs.

All jobs are resolved at once. A job that cannot be resolved, because it has used its
retries or is no longer held, is listed; the others are resolved. "why JOB" and the
event job_classified show the reason and the author. More memory, runtime or CPUs than
is known to fit anywhere are rejected without --force.

With --file each entry of a list has its own verdict:

  - {job: train_3, action: retry, memory: 16g, reason: needs more, confidence: likely}
  - {fingerprint: 3f9a52c01b7e, action: fail, reason: the input is broken, author: ann}

Entries select jobs by job (name or ID) or fingerprint. They apply in their order: a
later entry does not change an earlier decision. A wrong entry is reported with its
position, and the others apply.`,
		Example: `  torc-slurm holds resolve 12 --all --retry --reason "the file server was down"
  torc-slurm holds resolve 12 --fingerprint 3f9a52c01b7e --retry --memory 16g --reason "needs more"
  torc-slurm holds resolve 12 --job 42,43 --fail --reason "the input is broken"
  torc-slurm holds resolve 12 -f verdicts.yaml --dry-run
  triage | torc-slurm holds resolve 12 -f -`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		Annotations:       cli.WithCSV(cli.ServerExits(cli.ExitInvalidSpec, "1 some jobs could not be resolved, or entries of the file are wrong; the others were resolved")),
	}
	flags.add(a, c)
	c.RunE = cli.Checked(func() error { return cmp.Or(flags.check(), loadVerdicts(a, &flags)) }, a.ServerCommand(func(ctx context.Context, conn *cli.Connection, args []string) error {
		id, err := cli.ParseID("workflow", args[0])
		if err != nil {
			return err
		}
		if flags.file != "" {
			return resolveHoldsEach(ctx, a, conn, id, &flags)
		}
		return resolveHolds(ctx, a, conn, id, &flags)
	}))
	return c
}

func (h *holdFlags) add(a *cli.Factory, c *cobra.Command) {
	cli.AddFileFlag(a, c, &h.file, "a list of verdicts")
	f, r := c.Flags(), &h.resolution
	f.StringSliceVar(&h.jobs, "job", nil, "the job with this `ID` or name; may be repeated")
	f.StringVar(&r.Fingerprint, "fingerprint", "", "all jobs of this group of \"holds list\"")
	f.BoolVar(&r.All, "all", false, "all held jobs of the workflow")
	f.BoolVar(&h.retry, "retry", false, "give them another attempt")
	f.BoolVar(&h.fail, "fail", false, "mark them as failed")
	f.StringVar(&r.Memory, "memory", "", "with --retry: their new memory, such as 16g")
	f.StringVar(&r.Runtime, "runtime", "", "with --retry: their new runtime, such as PT2H or 90m")
	f.Int64Var(&r.NumCPUs, "num-cpus", 0, "with --retry: their new number of CPUs")
	f.StringVar(&r.Reason, "reason", "", "reason of the decision")
	f.StringVar((*string)(&r.Confidence), "confidence", "", "how sure you are: certain, likely or guess")
	f.StringVar(&r.Author, "author", "", "who decides (default: you)")
	f.BoolVar(&r.DryRun, "dry-run", false, "show the outcome for each job, and change nothing")
	f.BoolVar(&r.Force, "force", false, "accept more memory, runtime or CPUs than fit anywhere")
	cli.CompleteWords(c, "confidence", "certain", "likely", "guess")
	c.MarkFlagsOneRequired("job", "fingerprint", "all", "file")
	c.MarkFlagsMutuallyExclusive("job", "fingerprint", "all", "file")
	c.MarkFlagsOneRequired("retry", "fail", "file")
	c.MarkFlagsMutuallyExclusive("retry", "fail", "file")
	c.MarkFlagsMutuallyExclusive("fail", "memory")
	c.MarkFlagsMutuallyExclusive("fail", "runtime")
	c.MarkFlagsMutuallyExclusive("fail", "num-cpus")
	for _, own := range []string{"memory", "runtime", "num-cpus", "reason", "confidence"} {
		c.MarkFlagsMutuallyExclusive("file", own) // each entry has its own
	}
}

// check returns a usage error for what the server would reject.
func (h *holdFlags) check() error {
	r := &h.resolution
	if h.file != "" {
		return nil
	}
	r.Status = workflow.Failed
	if h.retry {
		r.Status = workflow.Ready
	}
	if len(h.jobs) == 0 && r.Fingerprint == "" && !r.All {
		return cli.UsageErrorf("select the jobs: --job, --fingerprint or --all")
	}
	if h.retry == h.fail {
		return cli.UsageErrorf("decide about the jobs: --retry or --fail")
	}
	if r.Reason == "" {
		return cli.UsageErrorf("say why: --reason")
	}
	return r.Validate()
}

func resolveHolds(ctx context.Context, a *cli.Factory, c *cli.Connection, workflowID int64, h *holdFlags) error {
	for _, ref := range h.jobs {
		id, err := a.JobNamed(ctx, c, workflowID, ref)
		if err != nil {
			return err
		}
		h.resolution.JobIDs = append(h.resolution.JobIDs, id)
	}
	if h.resolution.Author == "" {
		h.resolution.Author = a.User()
	}
	outcomes, err := c.Holds.Resolve(ctx, workflowID, &h.resolution)
	if err != nil {
		return err
	}
	noteDryRun(a, h)
	if err := cli.ShowList(a, cli.List[hold.HoldOutcome]{Things: "jobs", Columns: []cli.Column[hold.HoldOutcome]{
		{Title: "ID", Cell: func(o hold.HoldOutcome) string { return fmt.Sprint(o.JobID) }},
		{Title: "Name", Cell: func(o hold.HoldOutcome) string { return o.JobName }},
		{Title: "Status", Cell: func(o hold.HoldOutcome) string { return cli.OrEmpty(o.Status) }},
		{Title: "Outcome", Cell: outcomeOf},
	}}, outcomes); err != nil {
		return err
	}
	if slices.ContainsFunc(outcomes, func(o hold.HoldOutcome) bool { return !o.Resolved }) {
		return cli.Silent(cli.ExitFailed)
	}
	if h.retry && !h.resolution.DryRun && len(outcomes) > 0 && a.Format == cli.FormatTable {
		return apidata.HintAtRunner(ctx, a, c, workflowID)
	}
	return nil
}

func outcomeOf(o hold.HoldOutcome) string {
	switch {
	case !o.Resolved && o.Hint != "":
		return "not resolved: " + o.Error + " (" + o.Hint + ")"
	case !o.Resolved:
		return "not resolved: " + o.Error
	case o.Attempt == 0:
		return "has failed"
	}
	return strings.TrimSuffix(fmt.Sprintf("ready for attempt %d, %s", o.Attempt, o.Asks), ", ")
}
