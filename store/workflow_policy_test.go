package store

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Policies about jobs that can only be created with the workflow are rejected if there
// are no such jobs: they would have no effect.
func TestPoliciesThatNeedJobs(t *testing.T) {
	undo := workflow.RunPolicy{OnFailure: &workflow.CompensationPolicy{Timeout: "PT1H"}}
	end := workflow.RunPolicy{End: &workflow.EndPolicy{Job: &workflow.EndJob{Command: "true"}}}
	r := newRig(t, independent(1)...)
	for name, p := range map[string]workflow.RunPolicy{"on_failure": undo, "end.job": end} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Workflows.Create(r.ctx, workflow.Workflow{Name: "w", User: "me", Policy: &p})
			wantCode(t, err, workflow.CodeInvalid)
			_, err = r.Workflows.Update(r.ctx, r.workflow, workflow.WorkflowUpdate{Policy: &p})
			wantCode(t, err, workflow.CodeInvalid)
		})
	}
	r.compensate(`{}`, 0)
	_, err := r.Workflows.Update(r.ctx, r.workflow, workflow.WorkflowUpdate{Policy: &undo})
	r.must(err)
}

// Policies of a workflow can be removed; its deadline, too, even after it has passed.
func TestUnsetPolicies(t *testing.T) {
	r := deadlined(t, workflow.DeadlineStopNew, independent(2)...)
	most := int64(1)
	_, err := r.Workflows.Update(r.ctx, r.workflow, workflow.WorkflowUpdate{Policy: &workflow.RunPolicy{MaxFailures: &most}})
	r.must(err)
	h := r.hand("n1", 1)
	h.turn()
	r.passDeadlines(time.Hour)
	w, err := r.Workflows.Update(r.ctx, r.workflow, workflow.WorkflowUpdate{UnsetPolicy: []string{"deadline", "max_failures"}})
	r.must(err)
	if w.Policy != nil {
		t.Errorf("policy: %+v", w.Policy)
	}
	h.turn(exited(h.held[0].LeaseRef, 1)) // neither the deadline nor the failure prevents it
	if n := len(h.held); n != 1 {
		t.Errorf("the runner holds %d jobs", n)
	}
	if open := r.passDeadlines(time.Hour); open != 0 {
		t.Error("the deadline passes again")
	}
	_, err = r.Workflows.Update(r.ctx, r.workflow, workflow.WorkflowUpdate{UnsetPolicy: []string{"max_failure"}})
	wantCode(t, err, workflow.CodeInvalid)
	r.check()
}

// A success condition must be about existing jobs.
func TestSuccessOfUnknownJobs(t *testing.T) {
	r := newRig(t, independent(2)...)
	says := func(condition string) error {
		_, err := r.Workflows.Update(r.ctx, r.workflow, workflow.WorkflowUpdate{Policy: &workflow.RunPolicy{End: &workflow.EndPolicy{SuccessIf: condition}}})
		return err
	}
	r.must(says(`failed_in("j*") == 0`))
	err := says(`failed_in("j7") == 0`)
	wantCode(t, err, workflow.CodeInvalid)
	if !strings.Contains(err.Error(), `no job is named "j7"`) {
		t.Error(err)
	}
}
