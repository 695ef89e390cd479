package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// report is the report at the end of a run. Its JSON begins with the fields of torc's exec.
type report struct {
	WorkflowID      int64  `json:"workflow_id"`
	Status          string `json:"status"` // completed, failed, canceled, unfinished
	HadFailures     bool   `json:"had_failures"`
	HadTerminations bool   `json:"had_terminations"`
	Message         string `json:"message"`

	WorkflowName    string                       `json:"workflow_name"`
	RunID           int64                        `json:"run_id"`
	TotalJobs       int64                        `json:"total_jobs"`
	JobsByStatus    api.JobCounts                `json:"jobs_by_status"`
	DurationSeconds float64                      `json:"duration_seconds"`
	GivenUp         string                       `json:"given_up,omitempty"`    // why the run was aborted
	Reason          string                       `json:"reason,omitempty"`      // why the runner ended
	Attempts        int64                        `json:"attempts"`              // of the run, with those of other runners
	Retried         int64                        `json:"retried"`               // attempts that were followed by another one
	Repaired        int64                        `json:"repaired"`              // jobs that completed after that
	Unfit           []unfitJobs                  `json:"unfit,omitempty"`       // ready jobs that this run could never start
	NotStarted      int64                        `json:"not_started,omitempty"` // ready jobs that fit, but the time was up
	Stopped         int64                        `json:"stopped"`               // attempts that were ended and returned to the queue when the runner ended
	ByCause         map[workflow.CauseKind]int64 `json:"by_cause,omitempty"`
	FailedJobs      []failedJob                  `json:"failed_jobs,omitempty"`
	Failures        *api.FailureGroupList        `json:"failures,omitempty"` // in groups that failed alike
	// FailureLines are the same as text; empty if no two jobs failed alike.
	FailureLines    []string                   `json:"-"`
	MoreFailed      int64                      `json:"more_failed_jobs,omitempty"` // that FailedJobs leaves out
	OOMDoubtful     []event.OOMDoubtfulPayload `json:"oom_doubtful,omitempty"`     // of which the kernel may have killed a process
	MoreOOMDoubtful int64                      `json:"more_oom_doubtful,omitempty"`
	Held            *heldJobs                  `json:"held,omitempty"`
	UserHeld        int64                      `json:"user_held_jobs,omitempty"`
	ClaimHolds      apidata.ClaimHolds         `json:"claim_holds,omitempty"`
	ClaimsHeld      string                     `json:"claims_held,omitempty"`    // the same as text
	FailedActions   []string                   `json:"failed_actions,omitempty"` // of this runner
	Slowest         []extremeJob               `json:"slowest,omitempty"`
	MostMemory      []extremeJob               `json:"most_memory,omitempty"`
	CanceledBy      []stage.CanceledGroup      `json:"canceled_by,omitempty"`
	EndJob          *stage.EndJobResult        `json:"end_job,omitempty"`
	PoliciesOff     int64                      `json:"retry_policies_off,omitempty"` // attempts for which no policy was evaluated
	Stages          *stage.StageSummaries      `json:"stages,omitempty"`
	Compensation    *stage.Compensation        `json:"compensation,omitempty"`
	Undelivered     int                        `json:"undelivered_reports,omitempty"`
	OutputLost      []string                   `json:"output_lost,omitempty"` // the output directory was removed
	Next            []string                   `json:"next,omitempty"`        // commands
}

type failedJob struct {
	JobID      int64              `json:"job_id"`
	Name       string             `json:"name"`
	Status     workflow.JobStatus `json:"status"`
	AttemptID  int64              `json:"attempt_id"`
	ReturnCode int64              `json:"return_code"`
	Cause      string             `json:"cause"`
	Text       string             `json:"text"`
}

type extremeJob struct {
	JobID           int64   `json:"job_id"`
	Name            string  `json:"name"`
	ExecTimeMinutes float64 `json:"exec_time_minutes"`
	PeakMemoryBytes int64   `json:"peak_memory_bytes,omitempty"`
}

const (
	reportedFailures = 10
	reportedExtremes = 3
	// extremeResults is how many results are read for the extremes, since a job may have
	// several.
	extremeResults = 100
)

// reportEnd gathers and shows the report. It returns a silent error with exit status 1 if the
// workflow was not successful, unless --exit-zero is set.
func reportEnd(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, p *progress, s runner.Summary, flags runFlags) error {
	r, err := gatherReport(ctx, c, id, s.Offer)
	if err != nil {
		return fmt.Errorf("report on workflow %d: %w", id, err)
	}
	if r.Held != nil {
		r.Held.alone = a.Flags.Standalone
	}
	r.ofRunner(p, s, a.Now())
	r.advise(cli.Prefix(a), flags.outputDir)
	if flags.sink != nil && flags.sink.printer != nil {
		r.write(a.Stderr) // the standard output has that of the jobs
	} else if err := a.ShowRecord(r, r.write); err != nil {
		return err
	}
	unsuccessful := r.HadFailures || r.HadTerminations || r.JobsByStatus.Canceled+r.JobsByStatus.PendingFailed+r.UserHeld > 0 || len(r.FailedJobs)+len(r.ClaimHolds)+len(r.Unfit) > 0
	if (r.Status == "failed" || r.Status == "canceled" || r.Status == "unfinished" && unsuccessful) && !flags.exitZero {
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}

// gatherReport returns the report from the server's data; whole is all that the runner offered
// to jobs.
func gatherReport(ctx context.Context, c *cli.Connection, id int64, whole placement.Offer) (*report, error) {
	status, err := c.Workflows.Status(ctx, id)
	if err != nil {
		return nil, err
	}
	n, shown := status.JobsByStatus, status.Shown()
	r := &report{
		WorkflowID: id, WorkflowName: status.WorkflowName, RunID: status.RunID,
		TotalJobs: shown.TotalJobs, JobsByStatus: shown.JobsByStatus,
		HadFailures: n.Failed > 0, HadTerminations: n.Terminated > 0, GivenUp: status.GivenUp, ClaimHolds: status.ClaimHolds, UserHeld: status.UserHeldJobs, Stages: status.Stages, Compensation: status.Compensation,
	}
	r.CanceledBy, r.EndJob = status.CanceledBy, status.EndJob
	if n := status.Attempts; n != nil {
		r.Attempts, r.Retried, r.Repaired, r.ByCause, r.PoliciesOff = n.Ended, n.Retried, n.Repaired, n.ByCause, n.PoliciesOff
	}
	switch {
	case status.IsCanceled:
		r.Status = "canceled"
	case !status.IsComplete:
		r.Status = "unfinished"
	case status.Verdict != "":
		r.Status = status.Verdict
	case n.Failed+n.Terminated+n.Canceled > 0:
		r.Status = "failed"
	default:
		r.Status = "completed"
	}
	if err := r.addAllFailed(ctx, c); err != nil {
		return nil, err
	}
	if err := r.addUnfit(ctx, c, status, whole); err != nil {
		return nil, err
	}
	if err := r.addDoubtful(ctx, c); err != nil {
		return nil, err
	}
	if n.Failed+n.Terminated+n.PendingFailed > 1 {
		if r.Failures, err = c.Workflows.FailureGroups(ctx, id); err != nil {
			return nil, err
		}
	}
	if n.PendingFailed > 0 {
		groups, err := c.Holds.List(ctx, id)
		if err != nil {
			return nil, err
		}
		r.Held = heldOf(groups)
	}
	if r.Slowest, err = extremes(ctx, c, client.ResultFilter{WorkflowID: id}, "exec_time_minutes"); err != nil {
		return nil, err
	}
	// An attempt that needed too much was often followed by another one.
	r.MostMemory, err = extremes(ctx, c, client.ResultFilter{WorkflowID: id, RunID: &r.RunID, AllRuns: true}, "peak_memory_bytes")
	return r, err
}

// addAllFailed adds the first jobs of any stage that failed or are held, and the number of
// those that it leaves out.
func (r *report) addAllFailed(ctx context.Context, c *cli.Connection) error {
	statuses := []workflow.JobStatus{workflow.Failed, workflow.Terminated, workflow.PendingFailed}
	for _, s := range statuses {
		if err := r.addFailed(ctx, c, s); err != nil {
			return err
		}
	}
	if len(r.FailedJobs) < reportedFailures {
		return nil
	}
	r.MoreFailed = -int64(len(r.FailedJobs))
	for _, s := range statuses {
		n, err := c.Jobs.Count(ctx, client.JobFilter{WorkflowID: r.WorkflowID, Status: &s})
		if err != nil {
			return err
		}
		r.MoreFailed += n
	}
	return nil
}

// addFailed adds the jobs of a status with the causes of their last attempts.
func (r *report) addFailed(ctx context.Context, c *cli.Connection, s workflow.JobStatus) error {
	room := reportedFailures - len(r.FailedJobs)
	if room <= 0 {
		return nil
	}
	for job, err := range c.Jobs.List(ctx, client.JobFilter{WorkflowID: r.WorkflowID, Status: &s, Page: client.Page{Limit: int64(room)}}) {
		if err != nil {
			return err
		}
		f := failedJob{JobID: *job.ID, Name: job.Name, Status: s}
		attempts, err := c.Jobs.Attempts(ctx, *job.ID)
		if err != nil {
			return err
		}
		if len(attempts) > 0 {
			last := attempts[len(attempts)-1]
			f.AttemptID, f.Cause, f.Text = last.AttemptID, last.Cause, last.CauseText
			if last.ReturnCode != nil {
				f.ReturnCode = *last.ReturnCode
			}
		}
		r.FailedJobs = append(r.FailedJobs, f)
	}
	return nil
}

// extremes returns the jobs with the largest values of a column, among the results that a
// filter selects.
func extremes(ctx context.Context, c *cli.Connection, filter client.ResultFilter, column string) ([]extremeJob, error) {
	filter.Page = client.Page{Limit: extremeResults, SortBy: column, Reverse: true}
	var all []extremeJob
	for result, err := range c.Results.List(ctx, filter) {
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(e extremeJob) bool { return e.JobID == result.JobID }) {
			continue
		}
		e := extremeJob{JobID: result.JobID, Name: cli.OrEmpty(result.JobName), ExecTimeMinutes: result.ExecTimeMinutes}
		if result.PeakMemoryBytes != nil {
			e.PeakMemoryBytes = *result.PeakMemoryBytes
		}
		if column == "peak_memory_bytes" && e.PeakMemoryBytes == 0 {
			break // not measured
		}
		if all = append(all, e); len(all) == reportedExtremes {
			break
		}
	}
	return all, nil
}

// ofRunner adds what the runner of this process recorded.
func (r *report) ofRunner(p *progress, s runner.Summary, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.DurationSeconds, r.ClaimsHeld = now.Sub(p.began).Seconds(), r.ClaimHolds.Text(now)
	r.Stopped, r.Reason, r.Undelivered, r.FailedActions = p.stopped, s.Reason, s.Undelivered, p.failedActions
	r.OutputLost = s.OutputLost
	r.Message = fmt.Sprintf("Workflow %d %s", r.WorkflowID, map[string]string{
		"completed": "completed", "failed": "failed", "canceled": "is canceled", "unfinished": "is not finished",
	}[r.Status])
}

// advise sets the suggested next commands; prefix is the program with the flags for the
// server. The output directory is empty if it is the default.
func (r *report) advise(prefix, outputDir string) {
	if r.Failures != nil && hold.AnyAlike(r.Failures.Groups) {
		r.FailureLines = apidata.FailureLines(r.Failures, prefix)
	}
	if len(r.FailedJobs) > 0 {
		// A job that stands for a sub-workflow has no output.
		itself := slices.IndexFunc(r.FailedJobs, func(f failedJob) bool { return f.Cause != string(workflow.CauseSubWorkflow) })
		first := r.FailedJobs[max(itself, 0)].JobID
		r.Next = append(r.Next, fmt.Sprintf("%s why %d", prefix, first))
		logs := fmt.Sprintf("%s logs show %d", prefix, first)
		if outputDir != "" {
			logs += " -o " + cli.ShellWord(outputDir)
		}
		if itself >= 0 {
			r.Next = append(r.Next, logs)
		}
	}
	switch r.Status {
	case "unfinished":
		r.Next = append(r.Next, fmt.Sprintf("%s why -w %d", prefix, r.WorkflowID))
		if r.Held != nil {
			r.Next = append(r.Next, fmt.Sprintf("%s holds list %d", prefix, r.WorkflowID))
		}
		if held := r.held(); held != "" {
			r.Next = append(r.Next, prefix+" jobs retry"+held)
		}
		r.Next = append(r.Next, r.ClaimHolds.Commands(prefix, r.WorkflowID)...)
		if r.UserHeld > 0 {
			r.Next = append(r.Next, fmt.Sprintf("%s jobs release --all -w %d", prefix, r.WorkflowID))
		}
		if len(r.Unfit) == 0 { // otherwise it would end in the same way
			r.Next = append(r.Next, fmt.Sprintf("%s run %d", prefix, r.WorkflowID))
		}
	case "failed", "canceled":
		again := "reset --failed-only"
		switch advice, _ := explain.AdviseAll(r.causes()); {
		case r.Compensation != nil: // what completed was undone
			again = "reset"
		case advice.Recover && r.Status == "failed":
			again = "recover"
		}
		r.Next = append(r.Next, fmt.Sprintf("%s %s %d", prefix, again, r.WorkflowID), fmt.Sprintf("%s run %d", prefix, r.WorkflowID))
	}
}

// causes returns the causes of the last attempts of the failed jobs.
func (r *report) causes() (causes []workflow.CauseKind) {
	for _, f := range r.FailedJobs {
		causes = append(causes, workflow.CauseKind(f.Cause))
	}
	return causes
}

// held returns the ids of the jobs in the report that wait for a decision.
func (r *report) held() (ids string) {
	for _, f := range r.FailedJobs {
		if f.Status == workflow.PendingFailed {
			ids += fmt.Sprintf(" %d", f.JobID)
		}
	}
	return ids
}

// write writes the report as text.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s (%s), run %d: %s of %s in %s\n", r.Message, cli.Printable(r.WorkflowName), r.RunID,
		strings.Join(apidata.CountParts(r.JobsByStatus), ", "), workflow.CountOf(r.TotalJobs, "job", "jobs"), cli.ShortTime(cli.Seconds(r.DurationSeconds)))
	if r.GivenUp != "" {
		fmt.Fprintf(w, "The run was aborted: %s\n", cli.Printable(r.GivenUp))
	}
	if r.Reason != "" && r.Status == "unfinished" {
		fmt.Fprintf(w, "The runner ended: %s\n", r.Reason)
	}
	if r.Stopped > 0 {
		fmt.Fprintf(w, "Stopped and returned to the queue: %s\n", workflow.CountOf(r.Stopped, "job", "jobs"))
	}
	if line := r.EndJob.Line(); line != "" {
		fmt.Fprintf(w, "The end job %s\n", cli.Printable(line))
	}
	if len(r.ByCause) > 0 {
		fmt.Fprintf(w, "Attempts without success: %s\n", (&stage.AttemptCounts{ByCause: r.ByCause}).Causes())
	}
	if r.Retried > 0 {
		fmt.Fprintf(w, "Retried: %s; %s completed after that\n", workflow.CountOf(r.Retried, "attempt", "attempts"), workflow.CountOf(r.Repaired, "job", "jobs"))
	}
	if line := retry.PoliciesOffLine(r.PoliciesOff); line != "" {
		fmt.Fprintf(w, "Retry policies: %s\n", line)
	}
	r.writeFailed(w)
	r.writeDoubtful(w)
	for _, g := range r.CanceledBy {
		fmt.Fprintf(w, "Canceled: %s\n", cli.Printable(g.Line()))
	}
	r.writeUnfit(w)
	if r.ClaimsHeld != "" {
		fmt.Fprintf(w, "Claims are held: %s\n", cli.Printable(r.ClaimsHeld))
	}
	if r.UserHeld > 0 {
		fmt.Fprintf(w, "Held by users: %s\n", workflow.CountOf(r.UserHeld, "job", "jobs"))
	}
	if r.Held != nil {
		fmt.Fprintf(w, "Held: %s\n", r.Held)
	}
	if r.Stages != nil {
		fmt.Fprintln(w, "Stages:")
		for _, line := range r.Stages.Lines() {
			fmt.Fprintf(w, "  %s\n", cli.Printable(line))
		}
	}
	if r.Compensation != nil {
		for i, line := range r.Compensation.Lines() {
			fmt.Fprintf(w, "%s%s\n", map[bool]string{true: "Compensation: ", false: "  "}[i == 0], cli.Printable(line))
		}
	}
	for _, action := range r.FailedActions {
		fmt.Fprintf(w, "Failed action: %s\n", cli.Printable(action))
	}
	writeExtremes(w, "Slowest", r.Slowest, func(e extremeJob) string {
		return cli.ShortTime(cli.Minutes(e.ExecTimeMinutes))
	})
	writeExtremes(w, "Most memory", r.MostMemory, func(e extremeJob) string {
		return humanize.IBytes(uint64(max(0, e.PeakMemoryBytes)))
	})
	for _, text := range r.OutputLost {
		fmt.Fprintf(w, "Output lost: %s\n", cli.Printable(text))
	}
	if r.Undelivered > 0 {
		fmt.Fprintf(w, "%s could not be delivered; the next runner on this host tries again\n", workflow.CountOf(int64(r.Undelivered), "report", "reports"))
	}
	if len(r.Next) > 0 {
		fmt.Fprintln(w, "Next:")
		for _, n := range r.Next {
			fmt.Fprintf(w, "  %s\n", n)
		}
	}
}

func (r *report) writeFailed(w io.Writer) {
	if len(r.FailedJobs) == 0 {
		return
	}
	if len(r.FailureLines) > 0 {
		for _, line := range r.FailureLines {
			fmt.Fprintln(w, cli.Printable(line))
		}
		return
	}
	fmt.Fprintln(w, "Failed jobs:")
	for _, f := range r.FailedJobs {
		held := ""
		if f.Status == workflow.PendingFailed {
			held = ", held"
		}
		fmt.Fprintf(w, "  %s (job %d, attempt %d%s): %s\n", cli.Printable(f.Name), f.JobID, f.AttemptID, held,
			cli.Printable(cli.FirstOf(f.Text, f.Cause, f.Status.String())))
	}
	if r.MoreFailed > 0 {
		fmt.Fprintf(w, "  and %d more\n", r.MoreFailed)
	}
}

func writeExtremes(w io.Writer, title string, jobs []extremeJob, value func(extremeJob) string) {
	if len(jobs) < 2 {
		return
	}
	var parts []string
	for _, e := range jobs {
		parts = append(parts, cli.Printable(e.Name)+" "+value(e))
	}
	fmt.Fprintf(w, "%s: %s\n", title, strings.Join(parts, ", "))
}
