package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// ProcessChangedInputs makes the jobs uninitialized whose command, environment,
// relations or input data are not what they were when the job was initialized,
// and returns their names. A dry run only returns them. Jobs that a runner
// holds and disabled ones are left alone.
func (s *Store) ProcessChangedInputs(ctx context.Context, workflowID int64, dryRun bool, user string) (names []string, err error) {
	if dryRun {
		return s.changedInputs(ctx, workflowID)
	}
	err = s.writer.do("process changed job inputs", func(tx *Tx) error {
		r, err := tx.run(workflowID)
		if err != nil {
			return err
		}
		jobs, err := changedHashes(tx.query, workflowID)
		if err != nil {
			return err
		}
		var ids []int64
		names, ids = resettable(jobs)
		if err := tx.resetChanged(r, ids); err != nil {
			return err
		}
		return tx.userAction(workflowID, user, "process_changed_job_inputs", map[string]any{
			"reinitialized_count": len(names), "reinitialized_jobs": names,
		})
	})
	return names, err
}

// changedInputs is a dry run, beside the writer.
func (s *Store) changedInputs(ctx context.Context, workflowID int64) ([]string, error) {
	if err := s.requireWorkflow(ctx, workflowID); err != nil {
		return nil, err
	}
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	jobs, err := changedHashes(reader(ctx, tx), workflowID)
	if err != nil {
		return nil, err
	}
	names, _ := resettable(jobs)
	return names, nil
}

// resettable picks the jobs that were initialized once and may begin anew.
func resettable(jobs []hashedJob) (names []string, ids []int64) {
	names = []string{}
	for _, j := range jobs {
		if j.stored != nil && !j.status.IsLive() && j.status != workflow.Disabled && !j.rests {
			names, ids = append(names, j.name), append(ids, j.id)
		}
	}
	return names, ids
}

func (tx *Tx) resetChanged(r *run, ids []int64) error {
	n, err := tx.moveJobs(r.workflowID, workflow.Uninitialized, asNew, `status != 0 AND id IN (SELECT value FROM json_each(?3))`, idList(ids))
	if err != nil {
		return fmt.Errorf("reset jobs with changed inputs: %w", err)
	}
	if n == 0 {
		return nil
	}
	if err := tx.reopened(r.workflowID, ids); err != nil {
		return err
	}
	return tx.endIfOver(r.workflowID) // stages have jobs again that are not complete
}
