package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// RunStart is the start of a run, or why there was nothing to start. DueActions are those
// that are triggered afterwards and not claimed.
type RunStart struct {
	stage.Start
	RunID          int64 // the run that was started, or that had already started
	Ready, Blocked int64 // jobs, afterwards
	DueActions     []int64
}

// StartRun starts a run of a workflow if its jobs wait for one, in one transaction: it
// begins the next run if need be, and initializes the jobs. Repeated, it changes nothing, so
// that of several callers one starts the run. It returns the errors of stage.StartFacts and,
// if the next run has to begin, those of Reset.
func (s Workflows) StartRun(ctx context.Context, id int64, user string) (started RunStart, err error) {
	err = s.shared.By(ctx).Do("start a run", func(tx *core.Tx) (err error) {
		started, err = startRun(tx, id, user)
		return err
	})
	return started, err
}

// ProposeStartRun returns what StartRun would return, or its error, and changes nothing.
func (s Workflows) ProposeStartRun(_ context.Context, id int64, user string) (started RunStart, err error) {
	err = s.shared.Propose("propose the start of a run", func(tx *core.Tx) (err error) {
		started, err = startRun(tx, id, user)
		return err
	})
	return started, err
}

func startRun(tx *core.Tx, id int64, user string) (started RunStart, err error) {
	f, err := startFacts(tx, id)
	if err != nil {
		return started, err
	}
	started.RunID = f.RunID
	if started.Start, err = f.Start(); err != nil {
		return started, err
	}
	if started.Starts {
		if err := core.Changed(tx, id, "start_run", nil); err != nil {
			return started, err
		}
		if started.NewRun {
			w, err := beginRun(tx, id, &f.RunID, false, user)
			if err != nil {
				return started, fmt.Errorf("start workflow %d: %w", id, err)
			}
			started.RunID = w.RunID
		}
		o := engine.InitializeOptions{OnlyUninitialized: started.OnlyUninitialized, User: user}
		if err := engine.InitializeJobs(tx, id, o); err != nil {
			return started, fmt.Errorf("start workflow %d: %w", id, err)
		}
	}
	counts, err := core.StatusCounts(tx, id)
	if err != nil {
		return started, err
	}
	started.Ready, started.Blocked = counts.ByStatus[workflow.Ready], counts.ByStatus[workflow.Blocked]
	started.DueActions, err = dueActions(tx, id)
	return started, err
}

// dueActions returns the actions of a workflow that are triggered and not claimed.
func dueActions(tx *core.Tx, id int64) (due []int64, err error) {
	rows, err := tx.Query(`SELECT `+view.ActionColumns+` FROM workflow_action WHERE workflow_id = ? ORDER BY id`, id)
	if err != nil {
		return nil, fmt.Errorf("list the actions of workflow %d: %w", id, err)
	}
	actions, err := sqlite.Collect(rows, view.ScanAction)
	if err != nil {
		return nil, fmt.Errorf("list the actions of workflow %d: %w", id, err)
	}
	for i := range actions {
		if actions[i].IsPending() {
			due = append(due, actions[i].ID)
		}
	}
	return due, nil
}

// startFacts returns what decides whether a run of a workflow starts.
func startFacts(tx *core.Tx, id int64) (f stage.StartFacts, err error) {
	r, err := core.LoadRun(tx, id)
	if err != nil {
		return f, err
	}
	f = stage.StartFacts{WorkflowID: id, RunID: r.RunID, Canceled: r.Canceled, Compensating: r.Compensating()}
	counts, err := core.StatusCounts(tx, id)
	if err != nil {
		return f, err
	}
	f.Jobs = counts.ByStatus
	if r.Stages {
		if err := dropCompensations(tx, id, &f.Jobs); err != nil {
			return f, err
		}
	}
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM result WHERE workflow_id = ? AND run_id = ?)`, []any{id, r.RunID}, &f.HasResults)
	if err != nil {
		return f, fmt.Errorf("check for results of run %d of workflow %d: %w", r.RunID, id, err)
	}
	return f, nil
}

// dropCompensations subtracts the jobs of compensations from the jobs of a workflow.
func dropCompensations(tx *core.Tx, id int64, jobs *workflow.StatusCounts) error {
	rows, err := tx.Query(`SELECT status, COUNT(*) FROM job WHERE workflow_id = ?1 AND `+view.InCompensation+` GROUP BY status`, id)
	if err != nil {
		return fmt.Errorf("count the jobs of compensations of workflow %d: %w", id, err)
	}
	defer rows.Close()
	for rows.Next() {
		var status workflow.JobStatus
		var n int64
		if err := rows.Scan(&status, &n); err != nil {
			return fmt.Errorf("count the jobs of compensations of workflow %d: %w", id, err)
		}
		jobs[status] -= n
	}
	return rows.Err()
}
