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
func (s *Store) ProcessChangedInputs(_ context.Context, workflowID int64, dryRun bool, user string) ([]string, error) {
	var names []string
	err := s.writer.do("process changed job inputs", func(tx *Tx) error {
		names = []string{}
		r, err := tx.run(workflowID)
		if err != nil {
			return err
		}
		jobs, err := tx.changedHashes(workflowID)
		if err != nil {
			return err
		}
		var ids []int64
		for _, j := range jobs {
			if j.stored == nil || j.status.IsLive() || j.status == workflow.Disabled {
				continue
			}
			names = append(names, j.name)
			ids = append(ids, j.id)
		}
		if dryRun {
			return nil
		}
		if err := tx.resetChanged(r, ids); err != nil {
			return err
		}
		return tx.userAction(workflowID, user, "process_changed_job_inputs", map[string]any{
			"reinitialized_count": len(names), "reinitialized_jobs": names,
		})
	})
	return names, err
}

func (tx *Tx) resetChanged(r *run, ids []int64) error {
	n, err := tx.moveJobs(r.workflowID, workflow.Uninitialized, asNew, `status != 0 AND id IN (SELECT value FROM json_each(?3))`, idList(ids))
	if err != nil {
		return fmt.Errorf("reset jobs with changed inputs: %w", err)
	}
	if n == 0 {
		return nil
	}
	return tx.reopened(r.workflowID, ids)
}
