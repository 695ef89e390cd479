package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// audited returns who changed what, the latest first.
func (r *rig) audited(f audit.Filter) (lines []string) {
	r.tb.Helper()
	f.Limit = 100
	list, err := r.Audit.List(r.ctx, f)
	r.must(err)
	for _, e := range list {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", e.User, e.Door, e.Action, e.Text))
	}
	return lines
}

// TestAudit: what a user changed is kept when the log of the workflow is deleted, and later
// the workflow, but not forever.
func TestAudit(t *testing.T) {
	r := newRig(t, independent(2)...)
	ctx := audit.WithUser(audit.WithDoor(r.ctx, audit.API), "ann")
	name, priority := "renamed", int64(3)
	_, err := r.Workflows.Update(ctx, r.workflow, workflow.WorkflowUpdate{Name: &name})
	r.must(err)
	_, err = r.Workflows.Update(ctx, r.workflow, workflow.WorkflowUpdate{Name: &name}) // which changes nothing
	r.must(err)
	_, err = r.Jobs.Update(ctx, r.ids[0], workflow.JobUpdate{JobSettings: workflow.JobSettings{}, Priority: &priority})
	r.must(err)
	_, err = r.Jobs.Update(r.ctx, r.ids[1], workflow.JobUpdate{Priority: &priority}) // the daemon's own
	r.must(err)
	want := fmt.Sprintf("[ann api update_job: job id %d, job name j0, keys priority ann api update_workflow: keys name", r.ids[0])
	if got := fmt.Sprint(r.audited(audit.Filter{WorkflowID: r.workflow, User: "ann"})); got != want+"]" {
		t.Errorf("%s, want %s", got, want)
	}
	_, err = r.Events.DeleteAll(ctx, r.workflow)
	r.must(err)
	_, err = r.Workflows.Delete(ctx, r.workflow, false)
	r.must(err)
	if got := fmt.Sprint(r.audited(audit.Filter{User: "ann"})); got != "[ann api delete_workflow: name renamed "+want[1:]+"]" {
		t.Errorf("deleted: %s", got)
	}
	if got := r.audited(audit.Filter{Door: audit.MCP}); got != nil {
		t.Errorf("of agents: %q", got)
	}
	r.check()
	r.now = r.now.Add(changesKept + time.Hour)
	r.begin(independent(1)...)
	_, err = r.Workflows.Delete(ctx, r.workflow, false)
	r.must(err)
	if got := fmt.Sprint(r.audited(audit.Filter{User: "ann"})); got != "[ann api delete_workflow: name w]" {
		t.Errorf("later: %s", got)
	}
}

// TestAuditedEventsStay: the event of a user's change cannot be replaced.
func TestAuditedEventsStay(t *testing.T) {
	r := newRig(t, independent(1)...)
	_, err := r.Workflows.Archive(r.ctx, r.workflow, true, "ann")
	r.must(err)
	list, _, err := r.Events.List(r.ctx, EventFilter{WorkflowID: r.workflow}, Page{Limit: 1})
	r.must(err)
	_, err = r.Events.Update(r.ctx, list[0].ID, []byte(`{}`))
	wantCode(t, err, workflow.CodeConflict)
}
