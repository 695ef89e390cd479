package repair

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// watchFlags are the flags of watch.
type watchFlags struct {
	recoverFlags
	interval     float64
	recover      bool
	maxRetries   int64 // negative: any number
	counts       bool
	persistent   bool
	autoSchedule bool
	threshold    int64
	stranded     int64 // seconds
	cooldown     int64
}

// NewWatch returns the command that follows a workflow to its end.
func NewWatch(a *cli.Factory) *cobra.Command {
	var flags watchFlags
	cmd := &cobra.Command{
		Use:   "watch WORKFLOW",
		Short: "Follow a workflow to its end",
		Long: `Follow a workflow until it has ended, and report what happens on standard error and
in watch_<host>_wf<id>.log in the output directory.

The daemon manages allocations, retries and lost jobs with or without this command,
which you may end at any time. --auto-schedule makes the daemon request allocations
whenever ready jobs have no place; that continues after this command. --recover
retries the failed jobs when the workflow has ended, like torc-slurm recover; for that
this command has to run. --ai-recovery makes the daemon ask an AI agent about failed jobs
that are held until somebody decides; that continues after this command, too.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm watch 12
  torc-slurm watch 12 --auto-schedule
  torc-slurm watch 12 --recover --max-retries 2
  torc-slurm watch 12 --ai-recovery --ai-agent claude`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.ServerExits("1 jobs failed, claims are held until released, or nothing works on the workflow and nothing will"),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	cli.FreeLetterS(a, cmd)
	flags.add(cmd.Flags())
	f := cmd.Flags()
	f.Float64VarP(&flags.interval, "poll-interval", "p", 5, "poll every `SECONDS`")
	f.BoolVarP(&flags.recover, "recover", "r", false, "retry failed jobs when the workflow has ended")
	f.Int64VarP(&flags.maxRetries, "max-retries", "m", -1, "at most this many `TIMES` (default: no limit)")
	f.BoolVarP(&flags.counts, "show-job-counts", "s", false, "print the counts at each poll, not only when they change")
	f.BoolVar(&flags.persistent, "persistent", false, "continue even if nothing works on the workflow")
	f.BoolVar(&flags.autoSchedule, "auto-schedule", false, "make the daemon request allocations whenever ready jobs have no place")
	f.Int64Var(&flags.threshold, "auto-schedule-threshold", 5, "… for at least this many `JOBS`")
	f.Int64Var(&flags.stranded, "auto-schedule-stranded-timeout", 7200, "… or when they have waited this many `SECONDS` (0: never for fewer)")
	f.Int64Var(&flags.cooldown, "auto-schedule-cooldown", 1800, "accepted for compatibility: existing allocations count")
	_ = f.MarkHidden("auto-schedule-cooldown")
	cmd.MarkFlagsMutuallyExclusive("auto-schedule", "no-auto-schedule")
	cmd.RunE = cli.Checked(flags.check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		return runWatch(ctx, a, c, id, flags)
	}))
	return cmd
}

func (f *watchFlags) check() error {
	if f.interval <= 0 || f.threshold < 1 || f.stranded < 0 {
		return cli.UsageErrorf("intervals and thresholds must be greater than 0")
	}
	return f.recoverFlags.check()
}

// watch is an invocation of watch.
type watch struct {
	app   *cli.Factory
	c     *cli.Connection
	id    int64
	flags watchFlags
	log   io.Writer
	last  string // the last line of counts
}

func runWatch(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags watchFlags) error {
	w := &watch{app: a, c: c, id: id, flags: flags}
	closeLog, err := w.openLog()
	if err != nil {
		return err
	}
	defer closeLog()
	if flags.autoSchedule {
		if err := w.autoSchedule(ctx); err != nil {
			return err
		}
	}
	if flags.agent.recovery {
		text, err := flags.agent.enable(ctx, a, c, id)
		if err != nil {
			return err
		}
		w.say("%s", text)
	}
	for rounds := int64(0); ; rounds++ {
		status, err := w.follow(ctx)
		if err != nil {
			return err
		}
		n := status.JobsByStatus
		unsuccessful := n.Failed + n.Terminated + n.Canceled + n.PendingFailed
		switch {
		case status.Verdict == "completed" && unsuccessful > 0:
			w.say("The workflow has ended successfully by its success_if.")
			return nil
		case status.Verdict == "failed" && unsuccessful == 0:
			w.say("Every job completed, but the success_if of the workflow does not hold.")
			return cli.Silent(cli.ExitFailed)
		case !w.flags.persistent && status.HeldIndefinitely():
			w.say("Claims are held: %s; to continue: %s.", apidata.ClaimHolds(status.ClaimHolds).Text(a.Now()),
				strings.Join(apidata.ClaimHolds(status.ClaimHolds).Commands(cli.Prefix(a), id), ", or "))
			return cli.Silent(cli.ExitFailed)
		case unsuccessful == 0 && !status.IsCanceled:
			w.say("Every job completed.")
			return nil
		}
		if err := w.again(ctx, status, rounds); err != nil {
			return err
		}
	}
}

// openLog creates the log file in the output directory.
func (w *watch) openLog() (closeLog func(), err error) {
	dir := w.app.Path(cli.FirstOf(w.flags.outputDir, w.app.Config.Client.Run.OutputDir))
	if err := outputdir.Make(dir); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("get the name of this host: %w", err)
	}
	f, err := trustedfile.Append(filepath.Join(dir, fmt.Sprintf("watch_%s_wf%d.log", host, w.id)), 0o666)
	if err != nil {
		return nil, outputdir.WriteError(dir, err)
	}
	w.log = io.MultiWriter(w.app.Stderr, f)
	return func() { f.Close() }, nil
}

func (w *watch) say(format string, args ...any) {
	fmt.Fprintf(w.log, "%s %s\n", w.app.Now().Format(time.DateTime), cli.Printable(fmt.Sprintf(format, args...)))
}

// autoSchedule makes the daemon request allocations automatically.
func (w *watch) autoSchedule(ctx context.Context) error {
	dir, err := (&allocate.Flags{OutputDir: w.flags.outputDir}).DirOf(ctx, w.app, w.c, w.id)
	if err != nil {
		return err
	}
	limits := &workflow.AutoSchedule{MinReadyJobs: w.flags.threshold}
	if w.flags.stranded > 0 {
		limits.MaxReadyAge = fmt.Sprintf("PT%dS", w.flags.stranded)
	}
	request := &api.SubmitRequest{OutputDir: dir, Partition: w.flags.partition, AutoSchedule: limits, NoAutoSchedule: new(false), SkipChecks: true}
	allocate.TakeSbatchDefaults(w.app, request)
	plan, err := w.c.Workflows.Submit(ctx, w.id, request)
	if err != nil {
		return fmt.Errorf("make the daemon request allocations for workflow %d: %w", w.id, err)
	}
	for _, u := range plan.Unfit {
		w.say("Never runs: %s", u.Text)
	}
	w.say("The daemon requests allocations whenever ready jobs have no place, with or without this command.")
	return nil
}

// follow polls the workflow until it has ended.
func (w *watch) follow(ctx context.Context) (*api.WorkflowStatus, error) {
	for {
		status, err := w.c.Workflows.Status(ctx, w.id)
		if err != nil {
			return nil, err
		}
		w.tell(status)
		waits, err := w.waitsForAgent(ctx, status)
		if err != nil {
			return nil, err
		}
		if waits {
			if err := cli.Pause(ctx, time.Duration(w.flags.interval*float64(time.Second))); err != nil {
				return nil, err
			}
			continue
		}
		if status.IsComplete || status.IsCanceled || status.OnlyHeld() || !w.flags.persistent && status.HeldIndefinitely() {
			return status, nil
		}
		if !w.flags.persistent {
			if err := w.needWork(ctx, status); err != nil {
				return nil, err
			}
		}
		if err := cli.Pause(ctx, time.Duration(w.flags.interval*float64(time.Second))); err != nil {
			return nil, err
		}
	}
}

// tell prints the progress of the workflow if it has changed.
func (w *watch) tell(s *api.WorkflowStatus) {
	text := fmt.Sprintf("%s; %d active, %d pending allocations; %s", strings.Join(apidata.CountParts(s.Shown().JobsByStatus), ", "),
		s.ActiveScheduledNodes, s.PendingScheduledNodes, workflow.CountOf(s.ActiveComputeNodes, "runner", "runners"))
	if held := apidata.ClaimHolds(s.ClaimHolds); len(held) > 0 {
		text += "; claims are held: " + held.Text(w.app.Now())
	}
	if text != w.last || w.flags.counts {
		w.say("%s", text)
	}
	w.last = text
}

// needWork returns an error if nothing works on the workflow and nothing will.
func (w *watch) needWork(ctx context.Context, s *api.WorkflowStatus) error {
	if s.ActiveScheduledNodes+s.PendingScheduledNodes+s.ActiveComputeNodes > 0 {
		return nil
	}
	actions, err := w.c.Actions.List(ctx, w.id)
	if err != nil {
		return err
	}
	asks := func(x api.Action) bool {
		return x.ActionType == action.ScheduleNodes && x.Status != action.StatusExecuted
	}
	if slices.ContainsFunc(actions, asks) {
		return nil
	}
	live, err := client.Collect(w.c.Allocations.List(ctx, apidata.LiveAllocations(w.id)))
	if err != nil || len(live) > 0 {
		return err
	}
	return &cli.ExitError{Status: cli.ExitFailed, Err: workflow.Errorf(workflow.CodeConflict, "nothing works on workflow %d: it has no allocation, and none will be requested", w.id).
		WithHint("`%[1]s submit %[2]d` requests some; --persistent continues anyway", cli.Prefix(w.app), w.id)}
}

// again retries the failed jobs, if --recover is set and they can be retried.
func (w *watch) again(ctx context.Context, s *api.WorkflowStatus, rounds int64) error {
	n := s.JobsByStatus
	w.say("The workflow has ended: %d failed, %d terminated, %d canceled, %d held.", n.Failed, n.Terminated, n.Canceled, n.PendingFailed)
	switch {
	case n.PendingFailed > 0:
		if err := w.tellAgents(ctx); err != nil {
			return err
		}
		w.say("Held jobs wait for a decision: `%[1]s jobs retry` or `%[1]s jobs fail`.", cli.Prefix(w.app))
		return cli.Silent(cli.ExitFailed)
	case !w.flags.recover || s.IsCanceled:
		return cli.Silent(cli.ExitFailed)
	case w.flags.maxRetries >= 0 && rounds >= w.flags.maxRetries:
		w.say("The failed jobs were retried %s, which is the limit.", workflow.CountOf(rounds, "time", "times"))
		return cli.Silent(cli.ExitFailed)
	}
	flags := w.flags.recoverFlags
	flags.noPrompts = true
	r, err := prepareRecovery(ctx, w.app, w.c, w.id, flags)
	if err == nil {
		err = r.carryOut(ctx)
	}
	if err != nil {
		message, _ := cli.ErrorText(err)
		w.say("The failed jobs cannot be retried: %s", message)
		return cli.Silent(cli.ExitFailed)
	}
	var text strings.Builder
	r.write(&text)
	for line := range strings.Lines(text.String()) {
		w.say("%s", strings.TrimRight(line, "\n"))
	}
	return nil
}
