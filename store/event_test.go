package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestEventEditsKeepRowAndSeq(t *testing.T) {
	n := newNouns(t)
	var ids []int64
	for _, data := range []string{`{"category": "a"}`, `[1]`, `"text"`} {
		e, err := n.Events.Create(n.ctx, n.workflow, json.RawMessage(data))
		n.must(err)
		ids = append(ids, e.ID)
	}
	updated, err := n.Events.Update(n.ctx, ids[1], json.RawMessage(`{"category": "b"}`))
	n.must(err)
	_, err = n.Events.Delete(n.ctx, ids[2])
	n.must(err)
	_, err = n.Events.Get(n.ctx, ids[2])
	wantCode(t, err, workflow.CodeNotFound)

	listed, total, err := n.Events.List(n.ctx, EventFilter{WorkflowID: n.workflow}, sqlite.Page{Limit: 10})
	n.must(err)
	if total != 2 || listed[1].Seq != 2 || string(listed[1].Data) != string(updated.Data) {
		t.Errorf("total %d, events %+v", total, listed)
	}
	all, err := n.Events.After(n.ctx, n.workflow, 0, 10)
	n.must(err)
	var seqs []int64
	for _, e := range all {
		seqs = append(seqs, e.Seq)
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, seqs); diff != "" || string(all[2].Data) != "null" {
		t.Errorf("the log has %s as the deleted event's data (-want +got):\n%s", all[2].Data, diff)
	}
	if seq, err := n.Events.LastSeq(n.ctx, n.workflow); err != nil || seq != 3 {
		t.Errorf("last seq %d, error %v; want 3", seq, err)
	}
	deleted, err := n.Events.DeleteAll(n.ctx, n.workflow)
	if err != nil || deleted != 2 || n.count(`SELECT COUNT(*) FROM event`) != 3 {
		t.Errorf("deleted %d of 2 events, error %v; the rows must stay", deleted, err)
	}
}

func TestEventFilters(t *testing.T) {
	n := newNouns(t)
	first := n.now
	for _, data := range []string{`{"category": "a"}`, `{"category": "b"}`, `7`, `{"category": {"deep": 1}}`} {
		_, err := n.Events.Create(n.ctx, n.workflow, json.RawMessage(data))
		n.must(err)
		n.now = n.now.Add(time.Second)
	}
	_, err := n.Events.Create(n.ctx, n.other, json.RawMessage(`{"category": "a"}`))
	n.must(err)
	for name, c := range map[string]struct {
		filter EventFilter
		want   int64
	}{
		"all":      {EventFilter{}, 4},
		"category": {EventFilter{Category: new("a")}, 1},
		"later":    {EventFilter{AfterMS: new(first.UnixMilli())}, 3},
		"nothing":  {EventFilter{Category: new("a"), AfterMS: new(first.UnixMilli())}, 0},
	} {
		c.filter.WorkflowID = n.workflow
		_, total, err := n.Events.List(n.ctx, c.filter, sqlite.Page{Limit: 10})
		if err != nil || total != c.want {
			t.Errorf("%s: %d events, error %v; want %d", name, total, err, c.want)
		}
	}
}
