package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/spawn"
)

// mix is a workflow that runners, torc clients, operators and editors of its graph
// change.
type mix struct {
	*rig
	t     *rapid.T
	hands []*hand
	node  int64
	names int
}

// TestAnyOrderOfUseCasesIsSound does anything to a workflow in any order. The impossible
// is rejected with an error for the user, derived values agree with a recount after each
// step, and in the end the database keeps its guarantees.
func TestAnyOrderOfUseCasesIsSound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &mix{rig: newRig(t), t: rt}
		defer m.close()
		m.start()
		rt.Repeat(map[string]func(*rapid.T){
			"turn":       m.turn,
			"turn2":      m.turn,
			"turn3":      m.turn,
			"expire":     m.expire,
			"claim":      m.claim,
			"complete":   m.complete,
			"complete2":  m.complete,
			"operate":    m.operate,
			"initialize": m.initialize,
			"new run":    m.newRun,
			"reset":      m.reset,
			"classify":   m.classify,
			"add":        m.addJob,
			"spawn":      m.spawn,
			"edit":       m.edit,
			"delete":     m.delete,
			"data":       m.data,
			"":           m.compare,
		})
		m.promises()
	})
}

// promises checks the guarantees of the database.
func (m *mix) promises() {
	if *inMemory || *asNetwork {
		return // nobody else can read it
	}
	findings, err := check.Deep(m.ctx, m.Path(), check.Witness{})
	m.must(err)
	for _, f := range findings {
		m.t.Fatal(f)
	}
}

// close also removes the database, since there are many.
func (m *mix) close() {
	m.must(m.Close())
	m.must(os.RemoveAll(filepath.Dir(m.Path())))
}

func (m *mix) start() {
	n := rapid.IntRange(1, 8).Draw(m.t, "jobs")
	jobs := make([]rigJob, n)
	m.begin()
	handler := m.handler(`[{"exit_codes":[1],"max_retries":3},{"exit_codes":[2],"recovery_script":"./fix","max_retries":2}]`)
	for i := range jobs {
		for d := range i {
			if rapid.IntRange(0, 3).Draw(m.t, "edge") == 0 {
				jobs[i].after = append(jobs[i].after, d)
			}
		}
		jobs[i].runIf = workflow.RunIf(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(m.t, "run_if"))
		if rapid.Bool().Draw(m.t, "handled") {
			jobs[i].handler = handler
		}
	}
	m.add(jobs...)
	if rapid.Bool().Draw(m.t, "use_pending_failed") {
		m.do(func(tx *core.Tx) error {
			return tx.ExecOne(`UPDATE workflow SET use_pending_failed = 1 WHERE id = ?`, m.workflow)
		})
	}
	for range 2 {
		m.hands = append(m.hands, m.hand("n1", 2))
	}
	m.node = m.rig.node("n2")
}

// said accepts that an operation succeeds or is rejected.
func (m *mix) said(err error) {
	m.t.Helper()
	var known *workflow.Error
	if err != nil && !errors.As(err, &known) {
		m.t.Fatalf("not an answer to a user: %v", err)
	}
}

func (m *mix) job() int64 { return rapid.SampledFrom(m.present()).Draw(m.t, "job") }

// present lists the existing jobs, at least one.
func (m *mix) present() []int64 {
	ids, err := m.Jobs.IDs(m.ctx, m.workflow)
	m.must(err)
	if len(ids) == 0 {
		m.t.Skip("no jobs")
	}
	return ids
}

func (m *mix) runID() int64 { return m.number(`SELECT run_id FROM workflow WHERE id = ?`, m.workflow) }

func (m *mix) turn(t *rapid.T) {
	h := m.hands[rapid.IntRange(0, 1).Draw(t, "runner")]
	ends := []workflow.Evidence{
		{ExitCode: new(int64(0))}, {ExitCode: new(int64(0))}, {ExitCode: new(int64(0))}, {ExitCode: new(int64(1))}, {ExitCode: new(int64(2))},
		{KilledBy: workflow.KilledByTimeout, Signal: 9}, {KilledBy: workflow.KilledByDrain, Signal: 15}, {KilledBy: workflow.KilledByCancel, Signal: 15},
		{KilledBy: workflow.KilledBySibling, Signal: 15},
	}
	m.now = m.now.Add(time.Millisecond)
	now := m.now.UnixMilli()
	var said lease.TurnRequest
	for i := range h.held {
		held := &h.held[i]
		recovering := m.number(`SELECT COUNT(*) FROM job WHERE id = ? AND fence = ? AND phase = 1`, held.JobID, held.Fence) == 1
		switch k := rapid.IntRange(-3, len(ends)-1).Draw(t, "say"); {
		case recovering && k > 0:
			said.Recovered = append(said.Recovered, lease.Recovered{LeaseRef: held.LeaseRef, ReturnCode: int64(k % 2)})
		case recovering:
		case k >= 0:
			said.Reports = append(said.Reports, lease.Report{LeaseRef: held.LeaseRef, StartedMS: now, EndedMS: now, Evidence: ends[k]})
		case k == -1 && held.StartedMS == 0:
			said.GiveBack = append(said.GiveBack, held.LeaseRef)
		case k == -2:
			held.StartedMS = now
		}
	}
	h.free.Slots = rapid.Int64Range(0, 3).Draw(t, "slots")
	before := h.held
	answer := h.say(said)
	for i, res := range answer.Results {
		if i < len(said.Reports) && res.Recovery != nil {
			for _, held := range before {
				if held.LeaseRef == res.LeaseRef {
					h.held = append(h.held, held)
				}
			}
		}
	}
	h.drop(lease.TurnRequest{GiveBack: answer.Voided})
}

func (m *mix) expire(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "runner")
	if rapid.Bool().Draw(t, "leaves") {
		_, err := m.Runners.Leave(m.ctx, m.hands[i].id, lease.LeaveRequest{Reason: "done"})
		m.said(err)
	} else {
		m.said(m.Runners.Expire(m.ctx, m.hands[i].id, "killed"))
	}
	m.hands[i] = m.hand("n1", 2)
}

func (m *mix) claim(t *rapid.T) {
	var err error
	if rapid.Bool().Draw(t, "by resources") {
		_, _, err = m.Jobs.ClaimByResources(m.ctx, m.workflow, 2, Resources{CPUs: 2, MemoryBytes: 1 << 32, Nodes: 1}, false)
	} else {
		_, err = m.Jobs.ClaimNext(m.ctx, m.workflow, 2, nil)
	}
	m.said(err)
}

func (m *mix) complete(t *rapid.T) {
	id := m.job()
	if rapid.Bool().Draw(t, "start") {
		_, err := m.Jobs.Start(m.ctx, id, m.runID(), m.node)
		m.said(err)
		return
	}
	to := rapid.SampledFrom([]workflow.JobStatus{workflow.Completed, workflow.Completed, workflow.Failed, workflow.Canceled,
		workflow.Terminated, workflow.PendingFailed}).Draw(t, "status")
	j, err := m.Jobs.Get(m.ctx, id)
	m.must(err)
	_, _, err = m.Jobs.CompleteBatch(m.ctx, m.workflow, []Completion{{JobID: id, Status: to, RunID: m.runID(), Result: workflow.Result{
		JobID: id, WorkflowID: m.workflow, RunID: m.runID(), AttemptID: j.AttemptID, ComputeNodeID: m.node, Status: to, CompletionTime: view.Rfc3339(0),
		ReturnCode: int64(rapid.IntRange(0, 2).Draw(t, "code")),
	}}})
	m.said(err)
}

// operate changes one job, or ends the run.
func (m *mix) operate(t *rapid.T) {
	id := m.job()
	var err error
	switch rapid.IntRange(0, 6).Draw(t, "operation") {
	case 0:
		_, err = m.Workflows.Cancel(m.ctx, m.workflow)
	case 1, 2, 3:
		_, err = m.Jobs.Retry(m.ctx, id, m.runID(), 1000)
	default:
		to := rapid.SampledFrom([]workflow.JobStatus{workflow.Uninitialized, workflow.Blocked, workflow.Ready, workflow.Pending,
			workflow.Running, workflow.PendingFailed}).Draw(t, "status")
		_, err = m.Jobs.ManageStatusChange(m.ctx, id, to, m.runID())
	}
	m.said(err)
}

func (m *mix) initialize(t *rapid.T) {
	m.said(m.Workflows.Initialize(m.ctx, m.workflow, InitializeOptions{OnlyUninitialized: rapid.Bool().Draw(t, "only"), User: "me"}))
}

func (m *mix) newRun(t *rapid.T) {
	_, err := m.Workflows.Reset(m.ctx, m.workflow, rapid.Bool().Draw(t, "force"), "me")
	m.said(err)
}

func (m *mix) reset(t *rapid.T) {
	_, err := m.Workflows.ResetJobs(m.ctx, m.workflow, rapid.Bool().Draw(t, "failed only"), "me")
	m.said(err)
}

func (m *mix) classify(t *rapid.T) {
	c := hold.Classification{Status: rapid.SampledFrom([]workflow.JobStatus{workflow.Ready, workflow.Failed}).Draw(t, "as"), Author: "me", Reason: "so"}
	_, err := m.Holds.Resolve(m.ctx, m.workflow, HoldSelection{}, c, ResolveOptions{})
	m.said(err)
}

func (m *mix) some(t *rapid.T, ids []int64) []int64 {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, min(2, len(ids)), rapid.ID).Draw(t, "some")
}

func (m *mix) addJob(t *rapid.T) {
	m.names++
	_, err := m.Jobs.Create(m.ctx, []workflow.Job{{WorkflowID: m.workflow, Name: fmt.Sprintf("added%d", m.names), Command: "true",
		DependsOn: m.some(t, m.present())}})
	m.said(err)
}

func (m *mix) spawn(*rapid.T) {
	m.names++
	name := fmt.Sprintf("spawned%d", m.names)
	_, _, err := m.Jobs.Spawn(m.ctx, m.job(), spawn.SpawnRequest{Lineage: name, Jobs: []spawn.SpawnJob{{Name: name, Command: "true"}}})
	m.said(err)
}

// edit changes a job, or what it waits for.
func (m *mix) edit(t *rapid.T) {
	id := m.job()
	var u workflow.JobUpdate
	switch rapid.IntRange(0, 3).Draw(t, "edit") {
	case 0:
		u.Status = new(workflow.Disabled)
	case 1:
		u.DependsOn = m.some(t, m.present())
	case 2:
		u.RunIf = new(workflow.RunIf(rapid.IntRange(0, 2).Draw(t, "run_if")))
	case 3:
		u.Priority = new(int64(rapid.IntRange(0, 3).Draw(t, "priority")))
	}
	_, err := m.Jobs.Update(m.ctx, id, u)
	m.said(err)
}

func (m *mix) delete(*rapid.T) {
	_, err := m.Jobs.Delete(m.ctx, m.job(), "me")
	m.said(err)
}

// data has a job read or write a record of user data, or changes one.
func (m *mix) data(t *rapid.T) {
	m.names++
	var err error
	switch rapid.IntRange(0, 1).Draw(t, "data") {
	case 0:
		id, other := m.job(), m.job()
		_, err = m.UserData.Create(m.ctx, []artifact.UserData{{WorkflowID: m.workflow, Name: fmt.Sprintf("d%d", m.names), Data: []byte(`1`)}},
			UserDataLinks{ConsumerJobID: &id, ProducerJobID: &other})
	case 1:
		_, err = m.Workflows.ProcessChangedInputs(m.ctx, m.workflow, false, "me")
	}
	m.said(err)
}

func (m *mix) compare(t *rapid.T) {
	for _, what := range m.miscounted() {
		t.Fatal(what)
	}
}
