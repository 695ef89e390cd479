package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// tester is a test, a benchmark or one check of a property.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Error(args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// nouns is a store with two workflows, for tests of everything around the engine. Its
// rows are written directly.
type nouns struct {
	*Store
	t        tester
	ctx      context.Context
	now      time.Time
	workflow int64
	other    int64
}

func newNouns(t testing.TB) *nouns {
	t.Helper()
	n := &nouns{t: t, ctx: t.Context(), now: time.UnixMilli(1_795_255_200_000)}
	s, err := Open(t.Context(), Options{
		Path: filepath.Join(t.TempDir(), "torc.db"), Now: func() time.Time { return n.now }, AsNetwork: *asNetwork, InMemory: *inMemory,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	n.Store = s
	n.workflow, n.other = n.addWorkflow(), n.addWorkflow()
	return n
}

// in returns the same store in another test.
func (n *nouns) in(t tester) *nouns {
	same := *n
	same.t = t
	return &same
}

func (n *nouns) insert(query string, args ...any) (id int64) {
	n.t.Helper()
	err := n.shared.Do("test", func(tx *core.Tx) (err error) {
		id, err = tx.Insert(query, args...)
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return id
}

func (n *nouns) addWorkflow() int64 {
	n.t.Helper()
	return n.insert(`INSERT INTO workflow (name, user, timestamp) VALUES ('w', 'me', '2026-11-21T10:00:00.000Z')`)
}

// addJob inserts a job that uses requirements, in a status.
func (n *nouns) addJob(workflowID, requirements int64, status workflow.JobStatus) int64 {
	n.t.Helper()
	n.insert(`INSERT INTO claim_class (workflow_id, priority, requirements_id) VALUES (?, 0, ?) ON CONFLICT DO NOTHING`, workflowID, requirements)
	class := n.count(`SELECT id FROM claim_class WHERE workflow_id = ? AND requirements_id = ?`, workflowID, requirements)
	return n.insert(`INSERT INTO job (workflow_id, name, command, status, class_id) VALUES (?, 'j', 'true', ?, ?)`, workflowID, status, class)
}

// job inserts a job without needs of its own.
func (n *nouns) job(workflowID int64) int64 {
	n.t.Helper()
	return n.addJob(workflowID, 0, workflow.Uninitialized)
}

func (n *nouns) node(workflowID int64) int64 {
	n.t.Helper()
	node, err := n.ComputeNodes.Create(n.ctx, compute.Node{
		WorkflowID: workflowID, Hostname: "n1", PID: 1, StartTime: "2026-11-21T10:00:00+00:00", IsActive: true,
		NumCPUs: 4, MemoryGB: 8, NumNodes: 1, Type: compute.SchedulerSlurm,
	})
	n.must(err)
	return node.ID
}

func (n *nouns) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// count returns the number that a query selects.
func (n *nouns) count(query string, args ...any) (count int64) {
	n.t.Helper()
	n.must(n.db.Read.QueryRowContext(n.ctx, query, args...).Scan(&count))
	return count
}

func wantCode(t *testing.T, err error, want workflow.Code) {
	t.Helper()
	if got := workflow.CodeOf(err); got != want {
		t.Errorf("error %v has the code %q, want %q", err, got, want)
	}
}
