package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/failpoint"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// The victim's parameters, in its environment.
const (
	victimDir        = "STORE_TEST_VICTIM_DIR"
	victimFailpoints = "STORE_TEST_VICTIM_FAILPOINTS"
)

// victimLife is how long a victim runs that is not killed.
const victimLife = 20 * time.Second

// entry is a line of the victim's journal: what a use case has answered, or, for Forget,
// Uncancel and Dropped, what is about to be reverted.
type entry struct {
	Workflow int64                 `json:"workflow,omitempty"`
	Jobs     []int64               `json:"jobs,omitempty"` // of Workflow or Forget
	Grants   []lease.LeaseRef      `json:"grants,omitempty"`
	Reports  []check.SpooledReport `json:"reports,omitempty"`
	Canceled int64                 `json:"canceled,omitempty"`
	Uncancel int64                 `json:"uncancel,omitempty"`
	Forget   int64                 `json:"forget,omitempty"`
	Dropped  []lease.LeaseRef      `json:"dropped,omitempty"` // reports of a run that is over
	Settled  bool                  `json:"settled,omitempty"` // reports of the previous process were delivered
}

// victim is a loaded daemon without a network: a store, its users and its runners in one
// process.
type victim struct {
	*Store
	ctx     context.Context
	dir     string
	mu      sync.Mutex // guards journal
	journal io.Writer
}

// runVictim works until it is killed and returns an exit code otherwise.
func runVictim(dir, failpoints string) int {
	ctx, cancel := context.WithTimeout(context.Background(), victimLife)
	defer cancel()
	points, err := failpoint.Parse(failpoints)
	if err == nil {
		err = (&victim{ctx: ctx, dir: dir, journal: os.Stdout}).live(points)
	}
	fmt.Fprintln(os.Stderr, "the victim was not killed:", err)
	return 1
}

func (v *victim) live(points *failpoint.Set) (err error) {
	v.Store, err = Open(v.ctx, Options{Path: filepath.Join(v.dir, "torc.db"), Failpoint: points.Hit})
	if err != nil {
		return err
	}
	if err := v.Workflows.DeleteLeftovers(v.ctx); err != nil {
		return err
	}
	if err := v.settle(); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	v.write(entry{Settled: true})
	errs := make(chan error)
	go func() { errs <- v.repeat(v.use) }()
	for range 4 {
		go func() { errs <- v.repeat(v.run) }()
	}
	return <-errs
}

// write adds to the journal. A line is written at once or not at all.
func (v *victim) write(e entry) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := v.journal.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// repeat does something again and again. Rejections are normal: others cancel, reset and
// delete at the same time.
func (v *victim) repeat(do func() error) error {
	for v.ctx.Err() == nil {
		if err := do(); err != nil && workflow.CodeOf(err) == workflow.CodeInternal {
			return err
		}
	}
	return v.ctx.Err()
}

// list returns the ids that a query selects.
func (v *victim) list(query string, args ...any) ([]int64, error) {
	rows, err := v.db.Read.QueryContext(v.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return sqlite.Collect(rows, view.ScanID)
}

// use is one thing that a user does.
func (v *victim) use() error {
	ids, err := v.list(`SELECT id FROM workflow WHERE is_hidden = 0`)
	if err != nil {
		return err
	}
	if len(ids) < 3 {
		return v.create()
	}
	id := ids[rand.IntN(len(ids))]
	switch n := rand.IntN(100); {
	case n < 20 && len(ids) < 8:
		return v.create()
	case n < 30:
		jobs, err := v.Jobs.IDs(v.ctx, id)
		if err != nil {
			return err
		}
		v.write(entry{Forget: id, Jobs: jobs})
		_, err = v.Workflows.Delete(v.ctx, id, false)
		return err
	case n < 40:
		if _, err := v.Workflows.Cancel(v.ctx, id); err != nil {
			return err
		}
		v.write(entry{Canceled: id})
		return nil
	case n < 60:
		return v.again(id)
	case n < 80:
		return v.retryFailed(id)
	case n < 90:
		return v.Workflows.ReviewCompensations(v.ctx)
	}
	return v.completeLikeTorc(id)
}

// create creates a workflow as one definition and initializes it.
func (v *victim) create() error {
	d := victimDefinition()
	w, err := v.Workflows.BeginDefinition(v.ctx, d, "")
	if err != nil {
		return err
	}
	if err := w.Add(d); err != nil {
		return err
	}
	id, err := w.Finish(v.ctx, int64(len(d.Jobs)), 0)
	if err != nil {
		return err
	}
	jobs, err := v.Jobs.IDs(v.ctx, id)
	if err != nil {
		return err
	}
	v.write(entry{Workflow: id, Jobs: jobs})
	return v.Workflows.Initialize(v.ctx, id, InitializeOptions{User: "me"})
}

// again starts a new run with the failed jobs, or with all.
func (v *victim) again(id int64) error {
	v.write(entry{Uncancel: id})
	if _, err := v.Workflows.Reset(v.ctx, id, true, "me"); err != nil {
		return err
	}
	if _, err := v.Workflows.ResetJobs(v.ctx, id, rand.IntN(2) == 0, "me"); err != nil {
		return err
	}
	return v.Workflows.Initialize(v.ctx, id, InitializeOptions{OnlyUninitialized: rand.IntN(2) == 0, User: "me"})
}

// retryFailed has the failed jobs of a workflow retried.
func (v *victim) retryFailed(id int64) error {
	w, err := v.Workflows.Get(v.ctx, id)
	if err != nil {
		return err
	}
	jobs, err := v.list(`SELECT id FROM job WHERE workflow_id = ? AND status IN (6, 8) LIMIT 3`, id)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if _, err := v.Jobs.Retry(v.ctx, job, w.RunID, 5); err != nil {
			return err
		}
	}
	return nil
}

// completeLikeTorc claims jobs and completes them as torc's clients do.
func (v *victim) completeLikeTorc(id int64) error {
	w, err := v.Workflows.Get(v.ctx, id)
	if err != nil {
		return err
	}
	jobs, err := v.Jobs.ClaimNext(v.ctx, id, 3, nil)
	if err != nil || len(jobs) == 0 {
		return err
	}
	node, err := v.ComputeNodes.Create(v.ctx, compute.Node{WorkflowID: id, Hostname: "torc", StartTime: view.Rfc3339(time.Now().UnixMilli()),
		IsActive: true, NumCPUs: 4, MemoryGB: 4, NumNodes: 1, Type: compute.SchedulerLocal})
	if err != nil {
		return err
	}
	for _, j := range jobs {
		_, err := v.Jobs.Complete(v.ctx, Completion{JobID: j.ID, Status: workflow.Completed, RunID: w.RunID, Result: workflow.Result{
			JobID: j.ID, WorkflowID: id, RunID: w.RunID, AttemptID: j.AttemptID, ComputeNodeID: node.ID, Status: workflow.Completed,
			CompletionTime: view.Rfc3339(time.Now().UnixMilli())}})
		if err != nil {
			return err
		}
	}
	return nil
}
