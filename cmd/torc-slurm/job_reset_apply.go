package main

import (
	"context"
	"fmt"
	"io"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// resetFailure is a job that could not be reset.
type resetFailure struct {
	JobID int64  `json:"job_id"`
	Error string `json:"error"`
}

// reinitOutcome says whether the workflow was reinitialised.
type reinitOutcome struct {
	Requested bool    `json:"requested"`
	Applied   bool    `json:"applied"`
	Error     *string `json:"error"`
}

// resetResult is what the command says in JSON.
type resetResult struct {
	Status          string          `json:"status"` // success, partial_success, error
	WorkflowID      int64           `json:"workflow_id"`
	ResetCount      int             `json:"reset_count"`
	RequestedJobIDs []int64         `json:"requested_job_ids"`
	ResetJobIDs     []int64         `json:"reset_job_ids"`
	DownstreamJobs  []jobWithStatus `json:"downstream_jobs"`
	Failures        []resetFailure  `json:"failures"`
	NextSteps       []string        `json:"next_steps"`
	Reinit          reinitOutcome   `json:"reinit"`
}

// apply resets the jobs one by one and tells of each that failed.
func (r *jobReset) apply(ctx context.Context) error {
	id, runID := idOf(r.workflow.ID), idOf(r.workflow.RunID)
	result := resetResult{
		WorkflowID: id, RequestedJobIDs: []int64{}, ResetJobIDs: []int64{}, Failures: []resetFailure{}, NextSteps: []string{},
		DownstreamJobs: append([]jobWithStatus{}, r.downstream...), Reinit: reinitOutcome{Requested: r.flags.reinit},
	}
	for _, t := range r.targets {
		result.RequestedJobIDs = append(result.RequestedJobIDs, t.JobID)
		if _, err := r.c.ManageStatusChange(ctx, t.JobID, workflow.Uninitialized, runID); err != nil {
			message, _ := errorText(err)
			result.Failures = append(result.Failures, resetFailure{t.JobID, message})
			continue
		}
		result.ResetJobIDs = append(result.ResetJobIDs, t.JobID)
	}
	result.ResetCount = len(result.ResetJobIDs)
	if r.flags.reinit && len(result.Failures) == 0 {
		r.reinitialize(ctx, id, runID, &result.Reinit)
	}
	if !result.Reinit.Applied {
		result.NextSteps = append(result.NextSteps, fmt.Sprintf("%s workflows reinit %d", r.app.prefix(), id))
	}
	result.NextSteps = append(result.NextSteps, fmt.Sprintf("%s run %d", r.app.prefix(), id))
	result.Status = "success"
	switch {
	case result.ResetCount == 0:
		result.Status = "error"
	case len(result.Failures) > 0 || result.Reinit.Error != nil:
		result.Status = "partial_success"
	}
	return r.show(result)
}

// reinitialize begins a new run with what was reset.
func (r *jobReset) reinitialize(ctx context.Context, id, runID int64, outcome *reinitOutcome) {
	_, err := r.c.ResetStatusAt(ctx, id, runID, r.flags.force)
	if err == nil {
		err = r.c.Initialize(ctx, id, true)
	}
	if err != nil {
		message, _ := errorText(err)
		outcome.Error = &message
		return
	}
	outcome.Applied = true
}

func (r *jobReset) show(result resetResult) error {
	if err := r.app.showMessage(result, "Reset %s of workflow %d", workflow.CountOf(int64(result.ResetCount), "job", "jobs"), result.WorkflowID); err != nil {
		return err
	}
	for _, f := range result.Failures {
		r.app.note("job %d was not reset: %s", f.JobID, f.Error)
	}
	if e := result.Reinit.Error; e != nil {
		r.app.note("the workflow was not reinitialized: %s", *e)
	}
	if result.Status != "success" {
		return silent(exitFailed)
	}
	if r.app.format == formatTable {
		r.app.note("Next: %s", result.NextSteps[0])
	}
	return nil
}

func (r *jobReset) showDryRun() error {
	if r.app.format != formatJSON {
		r.showTables(r.app.Stdout)
		return nil
	}
	return r.app.writeJSON(struct {
		DryRun          bool            `json:"dry_run"`
		ReinitRequested bool            `json:"reinit_requested"`
		WorkflowID      int64           `json:"workflow_id"`
		Jobs            []jobWithStatus `json:"jobs"`
		DownstreamJobs  []jobWithStatus `json:"downstream_jobs"`
	}{true, r.flags.reinit, idOf(r.workflow.ID), r.targets, append([]jobWithStatus{}, r.downstream...)})
}

// showTables says what will be reset.
func (r *jobReset) showTables(w io.Writer) {
	a := r.app
	table := func(title string, jobs []jobWithStatus) {
		if len(jobs) == 0 {
			return
		}
		rows := make([][]string, len(jobs))
		for i, j := range jobs {
			rows[i] = []string{fmt.Sprint(j.JobID), j.Name, j.Status.String()}
		}
		fmt.Fprintln(w, title)
		writeTable(w, []string{"Job ID", "Name", "Current Status"}, rows, a.Width())
	}
	table("Jobs to reset:", r.targets)
	table("Downstream jobs, reset by the reinitialization:", r.downstream)
	var completed, untouched int
	for _, t := range r.targets {
		switch t.Status {
		case workflow.Completed:
			completed++
		case workflow.Uninitialized:
			untouched++
		}
	}
	if completed > 0 {
		a.note("warning: %s and would run again", workflow.CountOf(int64(completed), "job has completed", "jobs have completed"))
	}
	if untouched > 0 {
		a.note("warning: %s uninitialized already", workflow.CountOf(int64(untouched), "job is", "jobs are"))
	}
}
