package store

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/spawn"
)

func TestSpawn(t *testing.T) {
	n := newNouns(t)
	d := diamond()
	d.Env = map[string]string{"A": "1"}
	d.DynamicJobs = &workflow.DynamicJobsConfig{MaxIterations: new(int64(2))}
	d.Requirements = []workflow.ResourceRequirements{{Name: "big", NumCPUs: 4, NumNodes: 1, Memory: "8g", Runtime: "PT2H"}}
	g := n.graph(d)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	request := spawn.SpawnRequest{State: json.RawMessage(`{"step": 1}`), Jobs: []spawn.SpawnJob{
		{Name: "s2", Command: "true", DependsOn: []string{"s1", "d"}, ResourceRequirements: "big", Labels: []string{"x"}},
		{Name: "s1", Command: "true", Priority: 3, CancelOnBlockingJobFailure: new(false)},
	}}
	_, _, err := n.Jobs.Spawn(n.ctx, g.jobs[0], request)
	wantCode(t, err, workflow.CodeInvalid) // not running
	g.force(0, running)
	ids, iteration, err := n.Jobs.Spawn(n.ctx, g.jobs[0], request)
	if n.must(err); iteration != 1 || len(ids) != 2 {
		t.Fatalf("ids %v, iteration %d", ids, iteration)
	}
	big := n.count(`SELECT id FROM resource_requirements WHERE name = 'big'`)
	got, err := n.Jobs.Get(n.ctx, ids[0])
	n.must(err)
	want := workflow.Job{ID: ids[0], WorkflowID: g.workflow, Name: "s2", Command: "true", Status: blocked, AttemptID: 1,
		Env: map[string]string{"A": "1", spawn.EnvLineage: "a"}, DependsOn: []int64{g.jobs[0], g.jobs[3], ids[1]}, Origin: new(workflow.OriginSpawn),
		Labels: []string{"x"}, ResourceRequirementsID: &big}
	want.GateID = got.GateID
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spawned (-want +got):\n%s", diff)
	}
	g.jobs = append(g.jobs, ids...)
	g.want("spawned", running, blocked, blocked, blocked, blocked, blocked)

	again, iteration, err := n.Jobs.Spawn(n.ctx, g.jobs[0], request)
	if n.must(err); !slices.Equal(ids, again) || iteration != 1 {
		t.Errorf("repeated: ids %v, iteration %d; want %v, 1", again, iteration, ids)
	}
	for name, r := range map[string]spawn.SpawnRequest{
		"half of it": {Jobs: []spawn.SpawnJob{{Name: "s1"}, {Name: "s3"}}},
		"unknown":    {Jobs: []spawn.SpawnJob{{Name: "s3", DependsOn: []string{"nobody"}}}},
	} {
		if _, _, err := n.Jobs.Spawn(n.ctx, g.jobs[0], r); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
	_, _, err = n.Jobs.Spawn(n.ctx, 999, request)
	wantCode(t, err, workflow.CodeNotFound)

	_, iteration, err = n.Jobs.Spawn(n.ctx, g.jobs[0], spawn.SpawnRequest{Jobs: []spawn.SpawnJob{{Name: "s3", Command: "true"}}})
	if n.must(err); iteration != 2 {
		t.Errorf("iteration %d, want 2", iteration)
	}
	_, _, err = n.Jobs.Spawn(n.ctx, g.jobs[0], spawn.SpawnRequest{Jobs: []spawn.SpawnJob{{Name: "s4", Command: "true"}}})
	wantCode(t, err, workflow.CodeInvalid) // two iterations are the cap
	for _, state := range []string{`"end"`, `"really"`} {
		ids, iteration, err = n.Jobs.Spawn(n.ctx, g.jobs[0], spawn.SpawnRequest{State: json.RawMessage(state)})
		if n.must(err); len(ids) != 0 || iteration != 2 {
			t.Errorf("end: ids %v, iteration %d", ids, iteration)
		}
	}
	data, _, err := n.UserData.List(n.ctx, UserDataFilter{WorkflowID: g.workflow}, sqlite.Page{Limit: 10, SortBy: "name"})
	n.must(err)
	records := map[string]string{}
	for _, u := range data {
		records[u.Name] = string(u.Data)
	}
	wanted := map[string]string{
		"__torc_lineage__a__final":   `{"generation":2,"spawn_count":0,"final":true,"state":"really"}`,
		"__torc_lineage__a__g000001": `{"generation":1,"spawn_count":2,"state":{"step":1}}`,
		"__torc_lineage__a__g000002": `{"generation":2,"spawn_count":1,"state":null}`,
	}
	if diff := cmp.Diff(wanted, records); diff != "" {
		t.Errorf("lineage (-want +got):\n%s", diff)
	}
	g.force(0, failed)
	if j, err := n.Jobs.Get(n.ctx, g.jobs[5]); err != nil || j.Status != ready {
		t.Errorf("s1 runs whatever became of the caller: %s, error %v", j.Status, err)
	}
}
