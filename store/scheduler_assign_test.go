package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func TestAssignSchedulers(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	shape := compute.SlurmScheduler{Name: "short", Account: "me", Nodes: 1, Walltime: "01:00:00"}
	long := shape
	long.Name = "long"
	ids, err := n.Scheduling.AssignSchedulers(n.ctx, g.workflow, []SchedulerAssignment{
		{Scheduler: shape, JobIDs: g.jobs[:2]}, {Scheduler: long, JobIDs: g.jobs[2:3]},
	})
	n.must(err)
	schedulerOf := func(i int) (id int64) {
		if j := g.jobOf(i); j.SchedulerID != nil {
			id = *j.SchedulerID
		}
		return id
	}
	for i, want := range []int64{ids[0], ids[0], ids[1], 0} {
		if got := schedulerOf(i); got != want {
			t.Errorf("job %d has scheduler %d, want %d", i, got, want)
		}
	}
	made, err := n.SlurmSchedulers.Get(n.ctx, ids[1])
	if n.must(err); made.Name != "long" || made.WorkflowID != g.workflow {
		t.Errorf("made %+v", made)
	}
	// An existing one is assigned to more jobs.
	again, err := n.Scheduling.AssignSchedulers(n.ctx, g.workflow, []SchedulerAssignment{{Scheduler: made, JobIDs: g.jobs}})
	if n.must(err); len(again) != 1 || again[0] != ids[1] || schedulerOf(0) != ids[1] || schedulerOf(3) != ids[1] {
		t.Errorf("again: %v, jobs have %d and %d", again, schedulerOf(0), schedulerOf(3))
	}
	if all := n.count(`SELECT COUNT(*) FROM slurm_scheduler WHERE workflow_id = ?`, g.workflow); all != 2 {
		t.Errorf("there are %d schedulers", all)
	}
}

// TestAssignSchedulersIsAllOrNothing: if a job cannot have its scheduler, none is
// created.
func TestAssignSchedulersIsAllOrNothing(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	foreign := n.job(n.other)
	others, err := n.SlurmSchedulers.Create(n.ctx, compute.SlurmScheduler{WorkflowID: n.other, Name: "theirs", Account: "me", Nodes: 1, Walltime: "01:00:00"})
	n.must(err)
	shape := compute.SlurmScheduler{Name: "short", Account: "me", Nodes: 1, Walltime: "01:00:00"}
	refused := func(what string, code workflow.Code, second SchedulerAssignment) {
		t.Helper()
		_, err := n.Scheduling.AssignSchedulers(n.ctx, g.workflow, []SchedulerAssignment{{Scheduler: shape, JobIDs: g.jobs[:1]}, second})
		wantCode(t, err, code)
		if made := n.count(`SELECT COUNT(*) FROM slurm_scheduler WHERE workflow_id = ?`, g.workflow); made != 0 || g.jobOf(0).SchedulerID != nil {
			t.Errorf("%s: %d schedulers were made, job has %v", what, made, g.jobOf(0).SchedulerID)
		}
	}
	refused("a job that does not exist", workflow.CodeNotFound, SchedulerAssignment{Scheduler: shape, JobIDs: []int64{1 << 40}})
	refused("a job of another workflow", workflow.CodeInvalid, SchedulerAssignment{Scheduler: shape, JobIDs: []int64{foreign}})
	refused("a scheduler of another workflow", workflow.CodeInvalid, SchedulerAssignment{Scheduler: others, JobIDs: g.jobs[1:2]})
	refused("a name that none may have", workflow.CodeInvalid, SchedulerAssignment{Scheduler: compute.SlurmScheduler{Name: "a\nb"}})
	n.must(n.shared.Do("test", func(tx *core.Tx) error {
		_, err := tx.Exec(`CREATE TRIGGER stop BEFORE UPDATE OF class_id ON job WHEN old.name = 'b' BEGIN SELECT RAISE(ABORT, 'stop'); END`)
		return err
	}))
	refused("a database that breaks", workflow.CodeInternal, SchedulerAssignment{Scheduler: shape, JobIDs: g.jobs[1:2]})
	_, err = n.Scheduling.AssignSchedulers(n.ctx, 1<<40, nil)
	wantCode(t, err, workflow.CodeNotFound)
}
