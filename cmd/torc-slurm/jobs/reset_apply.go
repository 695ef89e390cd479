package jobs

import (
	"context"
	"fmt"
	"io"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// reinitOutcome is whether the workflow was reinitialized.
type reinitOutcome struct {
	Requested bool    `json:"requested"`
	Applied   bool    `json:"applied"`
	Error     *string `json:"error"`
}

// resetResult is the JSON output of the command.
type resetResult struct {
	Status          string             `json:"status"` // success, partial_success, error
	WorkflowID      int64              `json:"workflow_id"`
	ResetCount      int                `json:"reset_count"`
	RequestedJobIDs []int64            `json:"requested_job_ids"`
	ResetJobIDs     []int64            `json:"reset_job_ids"`
	DownstreamJobs  []api.ResetJob     `json:"downstream_jobs"`
	Failures        []api.ResetFailure `json:"failures"`
	NextSteps       []string           `json:"next_steps"`
	Reinit          reinitOutcome      `json:"reinit"`
}

// apply makes the daemon reset the jobs, and reports each that was not reset.
func (r *jobReset) apply(ctx context.Context) error {
	id := r.proposal.WorkflowID
	request := &api.ResetJobsRequest{RunID: &r.proposal.RunID, Force: r.flags.force, Reinitialize: r.flags.reinit}
	for _, j := range r.proposal.Jobs {
		request.JobIDs = append(request.JobIDs, j.JobID)
		if !r.flags.force {
			request.Expected = append(request.Expected, api.ExpectedJob{JobID: j.JobID, Status: j.Status})
		}
	}
	done, err := r.c.Workflows.ResetJobs(ctx, id, request)
	if err != nil {
		return err
	}
	result := resetResult{
		WorkflowID: id, ResetCount: len(done.Reset), RequestedJobIDs: request.JobIDs, ResetJobIDs: done.Reset, DownstreamJobs: r.proposal.Downstream,
		Failures: done.Failures, NextSteps: []string{}, Reinit: reinitOutcome{Requested: r.flags.reinit, Applied: done.Reinitialized},
	}
	if done.ReinitializeError != "" {
		result.Reinit.Error = &done.ReinitializeError
	}
	if !result.Reinit.Applied {
		result.NextSteps = append(result.NextSteps, fmt.Sprintf("%s workflows reinit %d", cli.Prefix(r.app), id))
	}
	result.NextSteps = append(result.NextSteps, fmt.Sprintf("%s run %d", cli.Prefix(r.app), id))
	result.Status = "success"
	switch {
	case result.ResetCount == 0:
		result.Status = "error"
	case len(result.Failures) > 0 || result.Reinit.Error != nil:
		result.Status = "partial_success"
	}
	return r.show(result)
}

func (r *jobReset) show(result resetResult) error {
	if err := r.app.ShowMessage(result, "Reset %s of workflow %d", workflow.CountOf(int64(result.ResetCount), "job", "jobs"), result.WorkflowID); err != nil {
		return err
	}
	for _, f := range result.Failures {
		r.app.Note("job %d was not reset: %s", f.JobID, f.Error)
	}
	if e := result.Reinit.Error; e != nil {
		r.app.Note("the workflow was not reinitialized: %s", *e)
	}
	if result.Status != "success" {
		return cli.Silent(cli.ExitFailed)
	}
	if r.app.Format == cli.FormatTable {
		r.app.Note("Next: %s", result.NextSteps[0])
	}
	return nil
}

func (r *jobReset) showDryRun() error {
	if r.app.Format != cli.FormatJSON {
		r.showTables(r.app.Stdout)
		return nil
	}
	return r.app.WriteJSON(struct {
		DryRun          bool           `json:"dry_run"`
		ReinitRequested bool           `json:"reinit_requested"`
		WorkflowID      int64          `json:"workflow_id"`
		Jobs            []api.ResetJob `json:"jobs"`
		DownstreamJobs  []api.ResetJob `json:"downstream_jobs"`
	}{true, r.flags.reinit, r.proposal.WorkflowID, r.proposal.Jobs, r.proposal.Downstream})
}

// showTables writes the jobs to reset and those downstream.
func (r *jobReset) showTables(w io.Writer) {
	a := r.app
	table := func(title string, jobs []api.ResetJob) {
		if len(jobs) == 0 {
			return
		}
		rows := make([][]string, len(jobs))
		for i, j := range jobs {
			rows[i] = []string{fmt.Sprint(j.JobID), j.Name, j.Status.String()}
		}
		fmt.Fprintln(w, title)
		cli.WriteTable(w, []string{"Job ID", "Name", "Current Status"}, rows, a.Width())
	}
	table("Jobs to reset:", r.proposal.Jobs)
	table("Downstream jobs, reset by the reinitialization:", r.proposal.Downstream)
	var completed, untouched int
	for _, t := range r.proposal.Jobs {
		switch t.Status {
		case workflow.Completed:
			completed++
		case workflow.Uninitialized:
			untouched++
		}
	}
	if completed > 0 {
		a.Note("warning: %s and would run again", workflow.CountOf(int64(completed), "job has completed", "jobs have completed"))
	}
	if untouched > 0 {
		a.Note("warning: %s uninitialized already", workflow.CountOf(int64(untouched), "job is", "jobs are"))
	}
}
