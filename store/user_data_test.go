package store

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

func TestUserDataLife(t *testing.T) {
	n := newNouns(t)
	reader, writer := n.job(n.workflow), n.job(n.workflow)
	created, err := n.UserData.Create(n.ctx, []artifact.UserData{
		{WorkflowID: n.workflow, Name: "best", Data: json.RawMessage(`{"x": [1, 2.50]}`)},
	}, UserDataLinks{ConsumerJobID: &reader, ProducerJobID: &writer})
	n.must(err)
	id := created[0].ID

	for name, q := range map[string]UserDataFilter{
		"read":      {WorkflowID: n.workflow, ConsumerJobID: &reader},
		"written":   {WorkflowID: n.workflow, ProducerJobID: &writer},
		"name":      {WorkflowID: n.workflow, Name: new("ES")},
		"ephemeral": {WorkflowID: n.workflow, IsEphemeral: new(false)},
	} {
		got, total, err := n.UserData.List(n.ctx, q, sqlite.Page{Limit: 10})
		n.must(err)
		if diff := cmp.Diff(created, got); diff != "" || total != 1 {
			t.Errorf("%s: total %d (-want +got):\n%s", name, total, diff)
		}
	}

	updated, err := n.UserData.Update(n.ctx, id, UserDataUpdate{Name: new("worst"), Data: json.RawMessage(`null`)})
	n.must(err)
	if updated.Name != "worst" || string(updated.Data) != `{"x": [1, 2.50]}` {
		t.Errorf("after an update with null data: %+v; the data must be kept as it was", updated)
	}
	_, err = n.UserData.Delete(n.ctx, id)
	n.must(err)
	if left := n.count(`SELECT COUNT(*) FROM job_input_user_data`) + n.count(`SELECT COUNT(*) FROM job_output_user_data`); left != 0 {
		t.Errorf("%d links to the deleted record are left", left)
	}
}

func TestUserDataRefusals(t *testing.T) {
	n := newNouns(t)
	record := []artifact.UserData{{WorkflowID: n.workflow, Name: "d"}}
	_, err := n.UserData.Create(n.ctx, record, UserDataLinks{ConsumerJobID: new(n.job(n.other))})
	wantCode(t, err, workflow.CodeInvalid)
	_, err = n.UserData.Create(n.ctx, record, UserDataLinks{ProducerJobID: new(int64(99))})
	wantCode(t, err, workflow.CodeInvalid)
	if left := n.count(`SELECT COUNT(*) FROM user_data`); left != 0 {
		t.Errorf("%d records are left of refused requests", left)
	}

	lineage := []artifact.UserData{{WorkflowID: n.workflow, Name: "__torc_lineage__a__g000001"}}
	_, err = n.UserData.Create(n.ctx, lineage, UserDataLinks{})
	n.must(err)
	_, err = n.UserData.Create(n.ctx, lineage, UserDataLinks{})
	wantCode(t, err, workflow.CodeConflict)
}
