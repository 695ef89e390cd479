package store

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// someSettings returns a value for every setting of a job, different for each n.
func someSettings(t *testing.T, n int64) (s workflow.JobSettings) {
	t.Helper()
	for f := range reflect.TypeFor[workflow.JobSettings]().Fields() {
		value := reflect.New(f.Type.Elem())
		switch v := value.Elem(); v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprintf("%s %d", f.Name, n))
		case reflect.Int64:
			v.SetInt(n)
		case reflect.Bool:
			v.SetBool(n%2 == 1)
		default:
			t.Fatalf("%s is a %s: give it a value here", f.Name, v.Type())
		}
		reflect.ValueOf(&s).Elem().FieldByIndex(f.Index).Set(value)
	}
	return s
}

// Every setting of a job can be set in each way and is returned in each way.
func TestJobSettingsAreKept(t *testing.T) {
	n := newNouns(t)
	given := someSettings(t, 1)
	id := n.define(&workflow.Definition{Name: "w", User: "me", Jobs: []workflow.JobDefinition{
		{Name: "defined", Command: "true", JobSettings: given}, {Name: "plain", Command: "true"},
	}})
	_, err := n.Jobs.Create(n.ctx, []workflow.Job{{WorkflowID: id, Name: "created", Command: "true", JobSettings: given}})
	n.must(err)
	jobs, _, err := n.Jobs.List(n.ctx, JobFilter{WorkflowID: id}, sqlite.Page{Limit: 10, SortBy: "name"})
	n.must(err)
	for i, want := range []workflow.JobSettings{given, given, {}} {
		if diff := cmp.Diff(want, jobs[i].JobSettings); diff != "" {
			t.Errorf("listed job %s (-want +got):\n%s", jobs[i].Name, diff)
		}
	}

	change := someSettings(t, 2)
	plain := jobs[2].ID
	updated, err := n.Jobs.Update(n.ctx, plain, workflow.JobUpdate{JobSettings: change})
	n.must(err)
	if diff := cmp.Diff(change, updated.JobSettings); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
	if _, err := n.Jobs.Update(n.ctx, plain, workflow.JobUpdate{Name: new("other")}); err != nil {
		t.Fatal(err)
	}
	read, err := n.Jobs.Get(n.ctx, plain)
	n.must(err)
	if diff := cmp.Diff(change, read.JobSettings); diff != "" {
		t.Errorf("kept by an update of its name (-want +got):\n%s", diff)
	}
}

// A runner gets every setting of the jobs that it is granted.
func TestGrantHasTheJobSettings(t *testing.T) {
	r := newRig(t, independent(1)...)
	given := someSettings(t, 1)
	r.do(func(tx *core.Tx) error {
		j, err := engine.GetJob(tx, r.ids[0])
		if err != nil {
			return err
		}
		return updateJob(tx, &j, &workflow.JobUpdate{JobSettings: given})
	})
	grants := r.hand("n1", 4).withNode(4, 4).turn().Grants
	if len(grants) != 1 {
		t.Fatalf("%d grants", len(grants))
	}
	if diff := cmp.Diff(given, grants[0].JobSettings); diff != "" {
		t.Errorf("granted (-want +got):\n%s", diff)
	}
}
