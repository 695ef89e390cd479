package allocation

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// sendCancels sends one scancel for all allocations whose cancellation is due, and
// for abandoned ones that Slurm still has. The cancellation is stored before it is
// sent. The next poll shows whether it had an effect; until then it is repeated.
func (p *poll) sendCancels(ctx context.Context) error {
	var ids []int64
	var jobs []slurm.JobID
	for i := range p.live {
		if a := &p.live[i]; p.verdicts[a.ID].SendCancel {
			ids = append(ids, a.ID)
			jobs = append(jobs, slurm.JobID{Number: a.SlurmJobID})
			if a.CancelTries > 0 {
				p.log.Warn("scancel has had no effect yet, sending it again", "allocation_id", a.ID, "slurm_job_id", a.SlurmJobID, "tries", a.CancelTries)
			}
		}
	}
	for i := range p.reappeared {
		a := &p.reappeared[i]
		if a.CancelSentMS != 0 && p.now.Sub(time.UnixMilli(a.CancelSentMS)) < p.set.cancelAgain(a.CancelTries) {
			continue
		}
		ids = append(ids, a.ID)
		jobs = append(jobs, slurm.JobID{Number: a.SlurmJobID})
		p.log.Warn("canceling an abandoned allocation", "allocation_id", a.ID, "slurm_job_id", a.SlurmJobID)
	}
	if len(ids) == 0 {
		return nil
	}
	if err := p.store.Allocations.RecordCancel(ctx, ids); err != nil {
		return err
	}
	if err := p.slurm.Cancel(ctx, jobs...); err != nil {
		p.log.Warn("scancel failed, will be sent again later", "allocations", len(ids), "error", err)
	}
	return nil
}
