package store

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestProcessChangedInputs(t *testing.T) {
	n := newNouns(t)
	d := diamond()
	d.UserData = []workflow.UserDataDefinition{{Name: "in", Data: json.RawMessage(`{"a": 1, "b": 2}`)}}
	d.Jobs[1].InputUserData = []int32{0}
	g := n.graph(d)
	changed := func(dry bool, want ...string) {
		t.Helper()
		got, err := n.Workflows.ProcessChangedInputs(n.ctx, g.workflow, dry, "me")
		n.must(err)
		if want == nil {
			want = []string{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
	}
	changed(false) // nothing is known yet
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	changed(false)
	for i := range 4 {
		g.force(i, completed)
	}
	datum := n.count(`SELECT id FROM user_data`)
	_, err := n.UserData.Update(n.ctx, datum, UserDataUpdate{Data: json.RawMessage(`{"b":2,"a":1}`)})
	n.must(err)
	changed(false) // the same value
	_, err = n.UserData.Update(n.ctx, datum, UserDataUpdate{Data: json.RawMessage(`{"b":3,"a":1}`)})
	n.must(err)
	_, err = n.Jobs.Update(n.ctx, g.jobs[2], workflow.JobUpdate{JobSettings: workflow.JobSettings{InvocationScript: new("wrap.sh")}})
	n.must(err)
	changed(true, "b", "c")
	g.want("a dry run", completed, completed, completed, completed)
	changed(false, "b", "c")
	g.want("changed", completed, uninitialized, uninitialized, completed)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{OnlyUninitialized: true}))
	g.want("initialized", completed, ready, ready, blocked)
	changed(false)
}

// A sub-workflow that had ended continues when one of its jobs has changed, even if the
// jobs behind it have been claimed.
func TestChangedJobOfAStage(t *testing.T) {
	def := withChild(true)
	def.UserData = []workflow.UserDataDefinition{{Name: "in", Data: json.RawMessage(`1`)}}
	def.Jobs[3].InputUserData = []int32{0}
	s := newStaged(t, def)
	s.end(s.end(s.end(s.node.turn(), nil), nil), nil) // before, sub/a, sub/b
	s.statusOf(map[string]workflow.JobStatus{"sub": workflow.Completed, "after": workflow.Pending})
	_, err := s.UserData.Update(s.ctx, s.number(`SELECT id FROM user_data`), UserDataUpdate{Data: json.RawMessage(`2`)})
	s.must(err)
	names, err := s.Workflows.ProcessChangedInputs(s.ctx, s.workflow, false, "me")
	s.must(err)
	if diff := cmp.Diff([]string{"sub/b"}, names); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	s.statusOf(map[string]workflow.JobStatus{"sub": workflow.Running, "sub/a": workflow.Completed, "sub/b": workflow.Uninitialized})
	s.sound(check.Witness{})
}
