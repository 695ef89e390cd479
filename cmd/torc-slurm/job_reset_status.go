package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// resetFlags are those of jobs reset-status.
type resetFlags struct {
	statuses                         []string
	returnCode                       int64
	workflowID                       int64
	force, dryRun, noPrompts, reinit bool
}

func newJobsResetStatusCommand(a *app) *cobra.Command {
	var o resetFlags
	cmd := &cobra.Command{
		Use:   "reset-status [JOB...]",
		Short: "Make single jobs run again",
		Long: `Make jobs uninitialized, so that they run again after the next "workflows reinit",
together with everything that depends on them. The jobs are named by their ids,
or chosen by their status or by the return code of their latest result.

Nothing is reset while runners are at work on the workflow or one of the jobs is
pending or running, unless --force is given.`,
		Example: `  torc-slurm jobs reset-status 42 43 --reinit
  torc-slurm jobs reset-status --workflow-id 12 --status failed,terminated
  torc-slurm jobs reset-status --workflow-id 12 --return-code 137 --dry-run`,
		Annotations: serverExits("1 no job was chosen, or one could not be reset"),
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.statuses, "status", nil, "jobs in one of these statuses, separated by commas")
	f.Int64Var(&o.returnCode, "return-code", 0, "jobs whose latest result has this return code")
	f.Int64Var(&o.workflowID, "workflow-id", 0, "workflow of --status and --return-code")
	f.BoolVar(&o.force, "force", false, "although runners are at work or jobs are running")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be reset")
	addNoPrompts(f, &o.noPrompts)
	f.BoolVar(&o.reinit, "reinit", false, "reinitialize the workflow afterwards")
	f.BoolVar(&o.reinit, "reinitialize", false, "reinitialize the workflow afterwards")
	_ = f.MarkHidden("reinitialize")
	cmd.MarkFlagsMutuallyExclusive("status", "return-code")
	completeWords(cmd, "status", statusNames()...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && (len(o.statuses) > 0 || cmd.Flags().Changed("return-code")) {
			return usageErrorf("name jobs by their ids, or choose them by --status or --return-code")
		}
		ids, err := splitIDs("job", args)
		if err != nil {
			return err
		}
		r := jobReset{app: a, flags: o, code: given(cmd, "return-code", o.returnCode), requested: ids}
		if r.statuses, err = parseStatuses(o.statuses); err != nil {
			return err
		}
		if len(ids) == 0 && len(r.statuses) == 0 && r.code == nil {
			return failedErrorf("no job was chosen: name ids, or give --status or --return-code")
		}
		return a.serverCommand(func(ctx context.Context, c *connection, _ []string) error {
			r.c = c
			return r.run(ctx)
		})(cmd, args)
	}
	return cmd
}

func parseStatuses(texts []string) ([]workflow.JobStatus, error) {
	var all []workflow.JobStatus
	for _, text := range texts {
		s, err := parseStatus(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all, nil
}

// jobReset is one call of jobs reset-status.
type jobReset struct {
	app       *app
	c         *connection
	flags     resetFlags
	requested []int64
	statuses  []workflow.JobStatus
	code      *int64

	workflow   *api.Workflow
	targets    []jobWithStatus
	downstream []jobWithStatus
}

// jobWithStatus is a job in the output of the command.
type jobWithStatus struct {
	JobID  int64              `json:"job_id"`
	Name   string             `json:"name"`
	Status workflow.JobStatus `json:"status"`
}

func (r *jobReset) run(ctx context.Context) error {
	if err := r.choose(ctx); err != nil {
		return err
	}
	if len(r.targets) == 0 {
		return failedErrorf("no job of workflow %d matches", idOf(r.workflow.ID))
	}
	if err := r.findDownstream(ctx); err != nil {
		return err
	}
	if r.flags.dryRun {
		return r.showDryRun()
	}
	if !r.flags.force {
		if err := r.refuseLive(ctx); err != nil {
			return err
		}
	}
	if r.app.format != formatJSON {
		r.showTables(r.app.Stderr)
	}
	question := fmt.Sprintf("Reset %s?", workflow.CountOf(int64(len(r.targets)), "job", "jobs"))
	if yes, err := r.app.confirm(r.flags.noPrompts, question); err != nil || !yes {
		return err
	}
	if !r.flags.force {
		if err := r.refuseChanged(ctx); err != nil {
			return err
		}
	}
	return r.apply(ctx)
}

// choose finds the jobs to reset and their workflow.
func (r *jobReset) choose(ctx context.Context) error {
	var workflowID int64
	if len(r.requested) > 0 {
		id, err := r.chooseByID(ctx)
		if err != nil {
			return err
		}
		workflowID = id
	} else {
		text := ""
		if r.flags.workflowID != 0 {
			text = fmt.Sprint(r.flags.workflowID)
		}
		id, err := r.app.workflowID(ctx, r.c, text)
		if err != nil {
			return err
		}
		if workflowID = id; r.code != nil {
			err = r.chooseByCode(ctx, id)
		} else {
			err = r.chooseByStatus(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	w, err := r.c.Workflow(ctx, workflowID)
	r.workflow = w
	return err
}

func (r *jobReset) chooseByID(ctx context.Context) (workflowID int64, err error) {
	of := make(map[int64][]int64)
	for _, id := range r.requested {
		j, err := r.c.Job(ctx, id)
		if err != nil {
			return 0, err
		}
		r.add(*j)
		workflowID = j.WorkflowID
		of[j.WorkflowID] = append(of[j.WorkflowID], id)
	}
	if len(of) > 1 {
		var parts []string
		for w, ids := range of {
			parts = append(parts, fmt.Sprintf("workflow %d has %s", w, joined(ids)))
		}
		slices.Sort(parts)
		return 0, usageErrorf("the jobs belong to several workflows: %s", joined(parts))
	}
	if r.flags.workflowID != 0 && r.flags.workflowID != workflowID {
		return 0, usageErrorf("the jobs belong to workflow %d, not to workflow %d", workflowID, r.flags.workflowID)
	}
	return workflowID, nil
}

func (r *jobReset) chooseByStatus(ctx context.Context, workflowID int64) error {
	for _, s := range r.statuses {
		for j, err := range r.c.Jobs(ctx, client.JobFilter{WorkflowID: workflowID, Status: &s}) {
			if err != nil {
				return err
			}
			r.add(j)
		}
	}
	return nil
}

func (r *jobReset) chooseByCode(ctx context.Context, workflowID int64) error {
	with := make(map[int64]bool)
	for result, err := range r.c.Results(ctx, client.ResultFilter{WorkflowID: workflowID, ReturnCode: r.code}) {
		if err != nil {
			return err
		}
		with[result.JobID] = true
	}
	for j, err := range r.c.Jobs(ctx, client.JobFilter{WorkflowID: workflowID}) {
		if err != nil {
			return err
		}
		if with[idOf(j.ID)] {
			r.add(j)
		}
	}
	return nil
}

func (r *jobReset) add(j api.Job) {
	r.targets = append(r.targets, jobWithStatus{idOf(j.ID), j.Name, statusOf(j)})
}

// findDownstream lists what depends on the jobs, directly or not.
func (r *jobReset) findDownstream(ctx context.Context) error {
	id := idOf(r.workflow.ID)
	jobs, err := client.Collect(r.c.Jobs(ctx, client.JobFilter{WorkflowID: id}))
	if err != nil {
		return err
	}
	index := make(map[int64]int32, len(jobs))
	for i, j := range jobs {
		index[idOf(j.ID)] = int32(i)
	}
	deps := make([][]int32, len(jobs))
	for d, err := range r.c.JobDependencies(ctx, id, client.Page{}) {
		if err != nil {
			return err
		}
		to := index[d.JobID]
		deps[to] = append(deps[to], index[d.DependsOnJobID])
	}
	var targets []int32
	chosen := make(map[int64]bool)
	for _, t := range r.targets {
		targets, chosen[t.JobID] = append(targets, index[t.JobID]), true
	}
	for _, i := range workflow.Dependants(len(jobs), func(i int) []int32 { return deps[i] }, targets) {
		if j := jobs[i]; !chosen[idOf(j.ID)] {
			r.downstream = append(r.downstream, jobWithStatus{idOf(j.ID), j.Name, statusOf(j)})
		}
	}
	return nil
}

// refuseChanged refuses jobs that are not as they were shown: the question may have
// waited for its answer.
func (r *jobReset) refuseChanged(ctx context.Context) error {
	for _, t := range r.targets {
		now, err := r.c.Job(ctx, t.JobID)
		if err != nil {
			return err
		}
		if s := statusOf(*now); s != t.Status {
			return workflow.Errorf(workflow.CodeConflict, "job %d (%s) is %s by now; nothing was reset", t.JobID, t.Name, s).
				WithHint("choose the jobs anew, or reset them whatever they are with --force")
		}
	}
	return nil
}

// refuseLive refuses while somebody is at work.
func (r *jobReset) refuseLive(ctx context.Context) error {
	for _, t := range r.targets {
		if t.Status.IsLive() {
			return workflow.Errorf(workflow.CodeConflict, "job %d (%s) is %s", t.JobID, t.Name, t.Status).
				WithHint("wait for it, or take it from its runner with --force")
		}
	}
	status, err := r.c.WorkflowStatus(ctx, idOf(r.workflow.ID))
	if err != nil {
		return err
	}
	if n := int(status.ActiveComputeNodes); n > 0 {
		return workflow.Errorf(workflow.CodeConflict, "%s at work on workflow %d", workflow.CountOf(int64(n), "runner is", "runners are"), idOf(r.workflow.ID)).
			WithHint("wait for their end, or reset the jobs with --force")
	}
	return nil
}
