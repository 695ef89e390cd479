package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// rig is a store with a workflow whose jobs are written directly, ready to run.
type rig struct {
	*Store
	tb       testing.TB
	ctx      context.Context
	now      time.Time
	workflow int64
	ids      []int64 // of the jobs, by index
	changes  []Changes
	prepared []string // statements of use cases; the writer's goroutine owns it
}

// rigJob is a job of a rig. Jobs are named by their index.
type rigJob struct {
	after     []int // jobs that it depends on
	runIf     workflow.RunIf
	needs     workflow.ResourceRequirements
	priority  int64
	labels    string
	scheduler int64
	handler   int64
}

func newRig(tb testing.TB, jobs ...rigJob) *rig {
	tb.Helper()
	r := &rig{tb: tb, ctx: tb.Context(), now: time.UnixMilli(1_795_255_200_000)}
	s, err := Open(r.ctx, Options{
		Path: filepath.Join(tb.TempDir(), "torc.db"), Now: func() time.Time { return r.now }, AsNetwork: *asNetwork, InMemory: *inMemory,
		OnCommit: func(c Changes) { r.changes = append(r.changes, c) },
		Beat:     24 * time.Hour, // a heartbeat would read the clock while the test sets it
		tune:     r.tune,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	r.Store = s
	r.begin(jobs...)
	return r
}

// tune has the rig's database record its statements.
func (r *rig) tune(o *sqlite.Options) {
	o.Prepared = func(query string) { r.prepared = append(r.prepared, query) }
}

// begin creates another workflow, which the rig uses from now on.
func (r *rig) begin(jobs ...rigJob) {
	r.tb.Helper()
	r.ids, r.changes = nil, nil
	r.do(func(tx *core.Tx) (err error) {
		r.workflow, err = tx.Insert(`INSERT INTO workflow (name, user, timestamp, run_id) VALUES ('w', 'me', '2026-11-21T10:00:00.000Z', 1)`)
		return err
	})
	r.add(jobs...)
}

// independent returns n jobs without dependencies.
func independent(n int) []rigJob { return make([]rigJob, n) }

// chainOf returns n jobs, each behind the one before.
func chainOf(n int) []rigJob {
	jobs := make([]rigJob, n)
	for i := 1; i < n; i++ {
		jobs[i].after = []int{i - 1}
	}
	return jobs
}

// do runs a use case of the test.
func (r *rig) do(fn func(tx *core.Tx) error) {
	r.tb.Helper()
	r.must(r.shared.Do("test", fn))
}

func (r *rig) must(err error) {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatal(err)
	}
}

// add adds initialized jobs.
func (r *rig) add(jobs ...rigJob) {
	r.tb.Helper()
	r.do(func(tx *core.Tx) error {
		first := len(r.ids)
		for i, j := range jobs {
			id, err := r.insertJob(tx, first+i, j)
			if err != nil {
				return err
			}
			r.ids = append(r.ids, id)
		}
		return nil
	})
}

func (r *rig) insertJob(tx *core.Tx, i int, j rigJob) (int64, error) {
	q := j.needs
	if q.NumCPUs == 0 {
		q.NumCPUs = 1
	}
	name := fmt.Sprintf("%dc%dg%s", q.NumCPUs, q.NumGPUs, q.Memory)
	memory := int64(0)
	if q.Memory != "" {
		var err error
		if memory, err = workflow.ParseMemory(q.Memory); err != nil {
			return 0, err
		}
	}
	var requirements int64
	err := tx.Row(`SELECT COALESCE((SELECT id FROM resource_requirements WHERE workflow_id = ? AND name = ?), 0)`, []any{r.workflow, name}, &requirements)
	if err == nil && requirements == 0 {
		requirements, err = tx.Insert(`INSERT INTO resource_requirements (workflow_id, name, num_cpus, num_gpus, num_nodes, memory, runtime, memory_bytes, runtime_s)
			VALUES (?, ?, ?, ?, ?, '', '', ?, 60)`, r.workflow, name, q.NumCPUs, q.NumGPUs, max(1, q.NumNodes), memory)
	}
	if err != nil {
		return 0, err
	}
	class, err := core.ClassOf(tx, r.workflow, core.ClassKey{Priority: j.priority, RequirementsID: requirements, SchedulerID: j.scheduler, Labels: j.labels})
	if err != nil {
		return 0, err
	}
	status := workflow.Ready
	var gate, handler any
	if len(j.after) > 0 {
		deps := make([]int64, len(j.after))
		for k, d := range j.after {
			deps[k] = r.ids[d]
		}
		status = workflow.Blocked
		if gate, err = engine.GateOf(tx, r.workflow, deps); err != nil {
			return 0, err
		}
	}
	if j.handler != 0 {
		handler = j.handler
	}
	tx.Count(r.workflow, status, 1)
	return tx.Insert(`INSERT INTO job (workflow_id, name, command, status, class_id, gate_id, run_if, failure_handler_id)
		VALUES (?, ?, 'true', ?, ?, ?, ?, ?)`, r.workflow, fmt.Sprintf("j%d", i), int(status), class, gate, int(j.runIf), handler)
}

// handler adds a failure handler.
func (r *rig) handler(rules string) int64 {
	r.tb.Helper()
	h, err := r.FailureHandlers.Create(r.ctx, workflow.FailureHandler{WorkflowID: r.workflow, Name: "h", Rules: rules})
	r.must(err)
	return h.ID
}

// statuses lists the statuses of the jobs.
func (r *rig) statuses() []workflow.JobStatus {
	r.tb.Helper()
	rows, err := r.db.Read.QueryContext(r.ctx, `SELECT status FROM job WHERE workflow_id = ? ORDER BY id`, r.workflow)
	r.must(err)
	all, err := sqlite.Collect(rows, func(row sqlite.Scanner) (s workflow.JobStatus, err error) { return s, row.Scan(&s) })
	r.must(err)
	return all
}

// want compares the statuses of the jobs.
func (r *rig) want(want ...workflow.JobStatus) {
	r.tb.Helper()
	if diff := cmp.Diff(want, r.statuses()); diff != "" {
		r.tb.Fatalf("statuses (-want +got):\n%s", diff)
	}
	r.check()
}

// number returns the number that a query selects.
func (r *rig) number(query string, args ...any) (n int64) {
	r.tb.Helper()
	r.must(r.db.Read.QueryRowContext(r.ctx, query, args...).Scan(&n))
	return n
}

// events lists the types of the workflow's events.
func (r *rig) events() []string {
	r.tb.Helper()
	events, err := r.Events.After(r.ctx, r.workflow, 0, 100_000)
	r.must(err)
	var types []string
	for i, e := range events {
		types = append(types, string(e.Type))
		if e.Seq != int64(i+1) {
			r.tb.Fatalf("event %d has seq %d", i+1, e.Seq)
		}
	}
	return types
}

// check compares derived values with a recount.
func (r *rig) check() {
	r.tb.Helper()
	for _, what := range r.miscounted() {
		r.tb.Error(what)
	}
}

// miscounted names derived values that do not agree with a recount.
func (r *rig) miscounted() (wrong []string) {
	r.tb.Helper()
	for what, query := range map[string]string{
		"job_count": `SELECT COUNT(*) FROM (SELECT status, n FROM job_count WHERE workflow_id = ?1 AND n > 0
			EXCEPT SELECT status, COUNT(*) FROM job WHERE workflow_id = ?1 GROUP BY status)`,
		"gates": `SELECT COUNT(*) FROM gate g WHERE g.workflow_id = ?1 AND (
			g.open != (SELECT COUNT(*) FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = g.id AND j.status NOT BETWEEN 5 AND 9)
			OR g.failed != (SELECT COUNT(*) FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = g.id AND j.status BETWEEN 6 AND 8))`,
		"cause_count": `SELECT COUNT(*) FROM (SELECT run_id, cause, n, retried, counted FROM cause_count WHERE workflow_id = ?1 AND n > 0
			EXCEPT SELECT a.run_id, a.cause, COUNT(*), SUM(a.action IN ('retry', 'recover')), SUM(a.counted) FROM job j JOIN attempt a ON a.job_id = j.id
				WHERE j.workflow_id = ?1 GROUP BY a.run_id, a.cause)`,
		"blocked jobs behind open gates": `SELECT COUNT(*) FROM job j JOIN gate g ON g.id = j.gate_id JOIN workflow w ON w.id = j.workflow_id
			WHERE j.workflow_id = ?1 AND j.status = 1 AND g.open = 0 AND w.is_halted = 0
			AND (j.stage_id IS NULL OR j.stage_id IN (SELECT id FROM stage WHERE state = 'running'))`,
		"ready jobs behind closed gates": `SELECT COUNT(*) FROM job j JOIN gate g ON g.id = j.gate_id WHERE j.workflow_id = ?1 AND j.status = 2 AND g.open > 0`,
		"verdicts": `SELECT COUNT(*) FROM workflow w WHERE w.id = ?1 AND w.has_ended != EXISTS (SELECT 1 FROM verdict v
			WHERE v.workflow_id = w.id AND v.run_id = w.run_id AND v.generation = w.end_generation)`,
	} {
		if n := r.number(query, r.workflow); n != 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %d rows are wrong", what, n))
		}
	}
	return wrong
}

// sound checks the guarantees of the database.
func (r *rig) sound(w check.Witness) {
	r.tb.Helper()
	if *inMemory || *asNetwork {
		return // no other process can read it
	}
	findings, err := check.Deep(r.ctx, r.Path(), w)
	r.must(err)
	for _, f := range findings {
		r.tb.Error(f)
	}
}

// hand is a runner that a test controls.
type hand struct {
	*rig
	id     int64
	number int64
	runID  int64 // 0: the first
	held   []lease.Held
	free   lease.Free
}

// runner registers a runner that counts slots.
func (r *rig) hand(host string, slots int64) *hand {
	r.tb.Helper()
	return r.handOf(host, slots, compute.SchedulerLocal, placement.LoginNone)
}

// handOf is a hand of a type, with a part in the jobs of the daemon's host.
func (r *rig) handOf(host string, slots int64, nodeType string, login placement.LoginPart) *hand {
	r.tb.Helper()
	answer, err := r.Runners.Register(r.ctx, Registration{WorkflowID: r.workflow, Login: login, RegisterRequest: lease.RegisterRequest{
		Key: fmt.Sprintf("%s-%d-%d", host, r.workflow, len(r.changes)), Hostname: host, StartTime: "2026-11-21T10:00:00+00:00",
		NumCPUs: slots, MemoryBytes: 1 << 36, NumNodes: 1, NodeType: nodeType, MaxParallelJobs: slots, OutputDir: "/out",
	}})
	r.must(err)
	return &hand{rig: r, id: answer.RunnerID, free: lease.Free{Slots: slots}}
}

// turn sends the next turn, and holds what is granted.
func (h *hand) turn(reports ...lease.Report) lease.TurnResponse {
	h.tb.Helper()
	return h.say(lease.TurnRequest{Reports: reports})
}

// say sends the given turn as the next one.
func (h *hand) say(t lease.TurnRequest) lease.TurnResponse {
	h.tb.Helper()
	h.number++
	t.Turn, t.RunID, t.Free = h.number, max(h.runID, 1), h.free
	if t.Held == nil {
		h.drop(t)
		t.Held = h.held
	}
	answer, err := h.Runners.Turn(h.ctx, h.id, t)
	h.must(err)
	for _, g := range answer.Grants {
		h.held = append(h.held, lease.Held{LeaseRef: g.LeaseRef})
	}
	return answer
}

// drop removes what is reported or returned from what is held.
func (h *hand) drop(t lease.TurnRequest) {
	ended := map[lease.LeaseRef]bool{}
	for _, rep := range t.Reports {
		ended[rep.LeaseRef] = true
	}
	for _, ref := range t.GiveBack {
		ended[ref] = true
	}
	for _, rec := range t.Recovered {
		ended[rec.LeaseRef] = true
	}
	var left []lease.Held
	for _, held := range h.held {
		if !ended[held.LeaseRef] {
			left = append(left, held)
		}
	}
	h.held = left
}

// exited reports that an attempt ended with an exit code.
func exited(ref lease.LeaseRef, code int64) lease.Report {
	return lease.Report{LeaseRef: ref, StartedMS: 1_795_255_200_000, EndedMS: 1_795_255_201_000, Evidence: workflow.Evidence{ExitCode: &code}}
}
