package workflows

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// NewStatus returns the command that summarizes a workflow.
func NewStatus(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "status [ID]",
		Short:   "Summarize a workflow",
		Long:    "Summarize a workflow: jobs by status, time used, runners, and how it ended. Without an id it is your latest.",
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm status
  torc-slurm status 12
  torc-slurm -f json status 12 | jq .jobs_by_status`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		Annotations:       cli.ServerExits(),
		RunE:              a.WorkflowView(func(ctx context.Context, conn *cli.Connection, id int64) error { return showStatus(ctx, a, conn, id) }),
	}
}

func showStatus(ctx context.Context, a *cli.Factory, conn *cli.Connection, id int64) error {
	s, err := conn.Workflows.Status(ctx, id)
	if err != nil {
		return err
	}
	failures := &api.FailureGroupList{}
	if n := s.JobsByStatus; n.Failed+n.Terminated+n.PendingFailed > 1 {
		if failures, err = conn.Workflows.FailureGroups(ctx, s.WorkflowID); err != nil {
			return err
		}
	}
	for _, warning := range statusWarnings(s) {
		a.Note("warning: %s", warning)
	}
	next := ""
	if s.IsComplete && s.Verdict == "failed" && a.Format == cli.FormatTable {
		why, err := conn.Workflows.Why(ctx, s.WorkflowID)
		if err != nil {
			return err
		}
		next = why.Next
	}
	out := statusJSON(s)
	out.FailureGroups = failures.Groups
	return a.ShowRecord(out, func(w io.Writer) {
		writeStatus(w, s, cli.Prefix(a))
		for _, line := range apidata.FailureLines(failures, cli.Prefix(a)) {
			fmt.Fprintln(w, cli.Printable(line))
		}
		if next != "" {
			fmt.Fprintf(w, "Next: %s\n", cli.Printable(next))
		}
	})
}

// statusWithTimes is the summary with its times for people.
type statusWithTimes struct {
	*api.WorkflowStatus
	TotalExecTimeFormatted string `json:"total_exec_time_formatted"`
	WalltimeFormatted      string `json:"walltime_formatted,omitempty"`
	// FailureGroups are the largest groups of jobs that failed alike.
	FailureGroups []hold.FailureGroup `json:"failure_groups,omitempty"`
}

func statusJSON(s *api.WorkflowStatus) statusWithTimes {
	out := statusWithTimes{WorkflowStatus: s, TotalExecTimeFormatted: cli.ClockTime(cli.Minutes(s.TotalExecTimeMinutes))}
	if s.WalltimeSeconds != nil {
		out.WalltimeFormatted = cli.ClockTime(cli.Seconds(*s.WalltimeSeconds))
	}
	return out
}

func writeStatus(w io.Writer, s *api.WorkflowStatus, prefix string) {
	shown := s.Shown()
	fields := []cli.Field{
		{"ID", fmt.Sprint(s.WorkflowID)}, {"Name", s.WorkflowName}, {"User", s.WorkflowUser},
		{"Run", fmt.Sprint(s.RunID)}, {"Jobs", fmt.Sprint(shown.TotalJobs)},
	}
	for _, part := range apidata.CountParts(shown.JobsByStatus) {
		n, status, _ := strings.Cut(part, " ")
		fields = append(fields, cli.Field{"  " + status, n})
	}
	times := statusJSON(s)
	fields = append(fields, cli.Field{"Time used", times.TotalExecTimeFormatted}, cli.Field{"Walltime", times.WalltimeFormatted})
	if n := s.ActiveComputeNodes; n > 0 {
		fields = append(fields, cli.Field{"Runners", fmt.Sprint(n)})
	}
	for i := range s.Runners {
		fields = append(fields, cli.Field{"Runner", runnerTrouble(&s.Runners[i])})
	}
	if p, n := s.PendingScheduledNodes, s.ActiveScheduledNodes; p+n > 0 {
		fields = append(fields, cli.Field{"Allocations", fmt.Sprintf("%d active, %d pending", n, p)})
	}
	for _, why := range s.AllocationReasons {
		fields = append(fields, cli.Field{"Allocation", why})
	}
	if s.Stages != nil {
		for _, line := range s.Stages.Lines() {
			fields = append(fields, cli.Field{"Stage", line})
		}
	}
	if line := s.EndJob.Line(); line != "" {
		fields = append(fields, cli.Field{"End job", line})
	}
	if s.Compensation != nil {
		fields = append(fields, cli.Field{"Compensation", cli.JoinedLines(s.Compensation.Lines())})
	}
	for _, g := range s.CanceledBy {
		fields = append(fields, cli.Field{"Canceled", g.Line()})
	}
	if n := s.Attempts; n != nil {
		fields = append(fields, cli.Field{"Attempts", attemptsText(n)}, cli.Field{"Retry policies", retry.PoliciesOffLine(n.PoliciesOff)})
	}
	for i := range s.ClaimHolds {
		fields = append(fields, cli.Field{"Claims are held", s.ClaimHolds[i].Reason})
	}
	if n := s.UserHeldJobs; n > 0 {
		fields = append(fields, cli.Field{"Held by users", workflow.CountOf(n, "job", "jobs")})
	}
	if s.GivenUp != "" {
		fields = append(fields, cli.Field{"Aborted", s.GivenUp})
	}
	cli.WriteFields(w, fields...)
	fmt.Fprintln(w, verdictLine(s, prefix))
}

// attemptsText returns how the attempts of a run ended.
func attemptsText(n *stage.AttemptCounts) string {
	if n.Ended == 0 {
		return ""
	}
	text := fmt.Sprintf("%d ended", n.Ended)
	if causes := n.Causes(); causes != "" {
		text += "; without success: " + causes
	}
	if n.Retried > 0 {
		text += fmt.Sprintf("; %d retried", n.Retried)
	}
	return text
}

// runnerTrouble returns what is wrong with a runner; empty if nothing is.
func runnerTrouble(r *api.RunnerState) string {
	text := fmt.Sprintf("%d on %s (%s)", r.ComputeNodeID, r.Hostname, workflow.CountOf(r.Jobs, "job", "jobs"))
	if r.SilentSeconds != nil {
		return text + ": silent for " + workflow.FormatSeconds(*r.SilentSeconds)
	}
	return fmt.Sprintf("%s: starts no jobs since %s, Slurm does not: %s", text, time.UnixMilli(r.Paused.SinceMS).Format(time.TimeOnly), r.Paused.Reason)
}

// verdictLine returns the state of the workflow in a sentence; prefix is the program
// with the flags for the same server.
func verdictLine(s *api.WorkflowStatus, prefix string) string {
	n := s.Shown().JobsByStatus
	switch {
	case s.IsCanceled:
		return "The workflow is canceled."
	case s.TotalJobs == 0:
		return "The workflow has no jobs."
	case s.IsComplete && s.GivenUp != "":
		return fmt.Sprintf("The workflow has ended, as the run was aborted: %d failed, %d terminated, %d canceled.", n.Failed, n.Terminated, n.Canceled)
	case s.GivenUp != "":
		return "The run was aborted and is ending."
	case s.IsComplete && s.Verdict == "failed" && n.Failed+n.Terminated+n.Canceled == 0 && s.Stages.EndJobFailed():
		return "The workflow has ended: every job completed, but its end job " + cli.FirstOf(s.EndJob.Line(), "failed") + "."
	case s.IsComplete && s.Verdict == "failed" && n.Failed+n.Terminated+n.Canceled == 0:
		return "The workflow has ended: every job completed, but its success_if does not hold."
	case s.IsComplete && n.Failed+n.Terminated+n.Canceled == 0:
		return "The workflow has ended: every job completed."
	case s.IsComplete && s.Verdict == "completed":
		return fmt.Sprintf("The workflow has ended successfully by its success_if: %d failed, %d terminated, %d canceled.", n.Failed, n.Terminated, n.Canceled)
	case s.IsComplete:
		return fmt.Sprintf("The workflow has ended: %d failed, %d terminated, %d canceled.", n.Failed, n.Terminated, n.Canceled)
	case n.Uninitialized+n.Disabled == s.Shown().TotalJobs:
		return fmt.Sprintf("The workflow has not been started: `%s run %d`.", prefix, s.WorkflowID)
	case len(s.ClaimHolds) > 0 && n.Pending+n.Running == 0:
		return fmt.Sprintf("No job is claimed for now, and none runs: `%[1]s why -w %[2]d`; `%[1]s workflows resume %[2]d` lifts that.", prefix, s.WorkflowID)
	case len(s.ClaimHolds) > 0:
		return fmt.Sprintf("What runs goes on, but no further job is claimed for now: `%s why -w %d`.", prefix, s.WorkflowID)
	case s.ActiveComputeNodes == 0 && s.ActiveScheduledNodes+s.PendingScheduledNodes > 0:
		return fmt.Sprintf("The workflow waits for its allocations: `%s sq %d`.", prefix, s.WorkflowID)
	case s.ActiveComputeNodes == 0:
		return fmt.Sprintf("The workflow is not finished and nothing works on it: `%s run %d` goes on.", prefix, s.WorkflowID)
	}
	return "The workflow is running."
}

// statusWarnings returns what prevents ready jobs from running.
func statusWarnings(s *api.WorkflowStatus) []string {
	var warnings []string
	if n := s.RuntimeBlockedReadyJobs; n > 0 && s.LongestReadyRuntimeSeconds != nil && s.MaxAllocationRemainingSeconds != nil {
		warnings = append(warnings, fmt.Sprintf("%s for up to %s, but no runner has more than %s left",
			workflow.CountOf(n, "ready job wants to run", "ready jobs want to run"),
			cli.ClockTime(cli.Seconds(float64(*s.LongestReadyRuntimeSeconds))), cli.ClockTime(cli.Seconds(float64(*s.MaxAllocationRemainingSeconds)))))
	}
	for _, labels := range slices.Sorted(maps.Keys(s.UnservedReadyLabels)) {
		warnings = append(warnings, fmt.Sprintf("no runner has the labels %q that %s", labels,
			workflow.CountOf(s.UnservedReadyLabels[labels], "ready job wants", "ready jobs want")))
	}
	return warnings
}
