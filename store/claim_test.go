package store

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

func TestNoJobIsClaimedTwice(t *testing.T) {
	const clients, jobs = 8, 400
	r := newRig(t, independent(jobs)...)
	hands := make([]*hand, clients/2)
	for i := range hands {
		hands[i] = r.hand("n", 7)
	}
	var mu sync.Mutex
	claimed := map[int64]int{}
	note := func(id int64) {
		mu.Lock()
		defer mu.Unlock()
		claimed[id]++
	}
	var wg sync.WaitGroup
	for _, h := range hands {
		wg.Go(func() {
			for number := int64(1); ; number++ {
				answer, err := r.Runners.Turn(r.ctx, h.id, lease.TurnRequest{Turn: number, RunID: 1, Free: h.free, Held: h.held})
				if err != nil || len(answer.Grants) == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				for _, g := range answer.Grants {
					note(g.JobID)
					h.held = append(h.held, lease.Held{LeaseRef: g.LeaseRef})
				}
			}
		})
		wg.Go(func() {
			for {
				got, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 3, nil)
				if err != nil || len(got) == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				for _, j := range got {
					note(j.ID)
				}
			}
		})
	}
	wg.Wait()
	if len(claimed) != jobs {
		t.Errorf("%d jobs claimed, want %d", len(claimed), jobs)
	}
	for id, n := range claimed {
		if n > 1 {
			t.Errorf("job %d was claimed %d times", id, n)
		}
	}
	r.check()
}

// withNode has a runner offer resources.
func (h *hand) withNode(cpus, free int64) *hand {
	h.tb.Helper()
	h.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE compute_node SET max_parallel_jobs = NULL, num_cpus = ? WHERE id = ?`, cpus, h.id)
	})
	h.free = lease.Free{Slots: cpus, Nodes: []placement.FreeNode{{Name: "n1", CPUs: free, MemoryBytes: 1 << 36, Busy: free < cpus}}}
	return h
}

func TestBigJobIsNotPassedOverForEver(t *testing.T) {
	small := make([]rigJob, 20)
	for i := range small {
		small[i].needs.NumCPUs = 1
	}
	r := newRig(t, append(small, rigJob{needs: workflow.ResourceRequirements{NumCPUs: 4}})...)
	h := r.hand("n1", 4).withNode(4, 2)
	if g := h.turn().Grants; len(g) != 2 {
		t.Fatalf("%d grants, want 2 small ones", len(g))
	}
	// Two small ones end at a time, and two others take their place.
	for range 2 {
		r.now = r.now.Add(4 * time.Minute)
		if g := h.turn(exited(h.held[0].LeaseRef, 0), exited(h.held[1].LeaseRef, 0)).Grants; len(g) != 2 {
			t.Fatalf("%d grants, want 2 small ones", len(g))
		}
	}
	r.now = r.now.Add(4 * time.Minute)
	if g := h.turn().Grants; len(g) != 0 {
		t.Errorf("%d grants though room is kept for the big job", len(g))
	}
	h.withNode(4, 4)
	if g := h.turn(exited(h.held[0].LeaseRef, 0), exited(h.held[1].LeaseRef, 0)).Grants; len(g) != 1 || g[0].CPUs != 4 {
		t.Errorf("grants: %+v", g)
	}
}

func TestClaimableLater(t *testing.T) {
	big := rigJob{needs: workflow.ResourceRequirements{NumCPUs: 64}}
	behind := rigJob{after: []int{0}}
	for _, test := range []struct {
		name  string
		jobs  []rigJob
		other bool
		held  bool // the first one
		want  bool
	}{
		{"too big", []rigJob{big}, false, false, false},
		{"behind one that is too big", []rigJob{big, behind}, false, false, false},
		{"somebody else may take the big one", []rigJob{big, behind}, true, false, true},
		{"fits an empty node", []rigJob{{needs: workflow.ResourceRequirements{NumCPUs: 4}}}, false, false, true},
		{"held", []rigJob{{}, behind}, false, true, false},
		{"beside a held one", []rigJob{{}, {needs: workflow.ResourceRequirements{NumCPUs: 4}}}, false, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, test.jobs...)
			h := r.hand("n1", 4).withNode(4, 2)
			if test.other {
				r.hand("n2", 1)
			}
			held := int64(0)
			if test.held {
				held = 1
				_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.PendingFailed, 1)
				r.must(err)
			}
			answer := h.turn()
			if len(answer.Grants) > 0 || answer.ClaimableLater != test.want || answer.HeldJobs != held || answer.OpenJobs != int64(len(test.jobs)) {
				t.Errorf("answer: %+v", answer)
			}
		})
	}
}

func TestGrantTellsWhatTheJobNeeds(t *testing.T) {
	r := newRig(t, rigJob{needs: workflow.ResourceRequirements{NumCPUs: 2, Memory: "1g"}, priority: 3})
	r.do(func(tx *core.Tx) error {
		env, err := tx.Insert(`INSERT INTO job_env (workflow_id, env) VALUES (?, '{"A":"1"}')`, r.workflow)
		if err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE job SET env_id = ?, invocation_script = './wrap', run_timeout = '{"after_seconds":60,"grace_seconds":5}',
			stdio = '{"mode":"none"}' WHERE id = ?`, env, r.ids[0])
	})
	h := r.hand("n1", 4).withNode(4, 4)
	grants := h.turn().Grants
	want := []lease.Grant{{
		LeaseRef: lease.LeaseRef{JobID: r.ids[0], Attempt: 1, Fence: 1}, Name: "j0", Command: "true", JobSettings: workflow.JobSettings{InvocationScript: new("./wrap")},
		Env: map[string]string{"A": "1"}, Node: "n1", Requirements: "2c0g1g",
		CPUs: 2, MemoryBytes: 1 << 30, Nodes: 1, RuntimeSeconds: 60,
		RunTimeout: &workflow.RunTimeout{AfterSeconds: 60, GraceSeconds: 5}, Stdio: &workflow.StdioConfig{Mode: workflow.StdioNone},
	}}
	if diff := cmp.Diff(want, grants); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

func TestRegisterRunner(t *testing.T) {
	r := newRig(t)
	reg := Registration{WorkflowID: r.workflow, RegisterRequest: lease.RegisterRequest{
		Key: "k", Hostname: "n1", NumCPUs: 2, MemoryBytes: 1 << 30, NumNodes: 1,
		NodeType: compute.SchedulerSlurm, Labels: []string{"b", "a"}, EndTime: "2026-11-21T14:00:00+00:00",
	}}
	first, err := r.Runners.Register(r.ctx, reg)
	r.must(err)
	second, err := r.Runners.Register(r.ctx, reg)
	r.must(err)
	if first.RunnerID != second.RunnerID || first.Workflow.RunID != 1 {
		t.Errorf("registered %+v and %+v", first, second)
	}
	n, err := r.ComputeNodes.Get(r.ctx, first.RunnerID)
	r.must(err)
	if !n.IsActive || n.MemoryGB != 1 || len(n.Labels) != 2 || n.EndTime == nil {
		t.Errorf("compute node: %+v", n)
	}
	for _, bad := range []func(*Registration){
		func(g *Registration) { g.Key = "" },
		func(g *Registration) { g.Hostname = "" },
		func(g *Registration) { g.NumCPUs = -1 },
		func(g *Registration) { g.NumNodes = 0 },
		func(g *Registration) { g.Labels = []string{"a,b"} },
	} {
		wrong := reg
		bad(&wrong)
		_, err := r.Runners.Register(r.ctx, wrong)
		wantCode(t, err, workflow.CodeInvalid)
	}
	reg.WorkflowID = 999
	_, err = r.Runners.Register(r.ctx, reg)
	wantCode(t, err, workflow.CodeNotFound)
	if n := r.number(`SELECT COUNT(*) FROM compute_node`); n != 1 {
		t.Errorf("%d compute nodes, want 1", n)
	}
}
