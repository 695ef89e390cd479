package allocation

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// sendCancels sends one scancel for all allocations that are due for one, and
// for those that had been given up and are there all the same. That
// it is sent is stored before. Whether it was obeyed shows the next look; it
// is sent again until then.
func (p *poll) sendCancels(ctx context.Context) error {
	var ids []int64
	var jobs []slurm.JobID
	for i := range p.live {
		if a := &p.live[i]; p.verdicts[a.ID].SendCancel {
			ids = append(ids, a.ID)
			jobs = append(jobs, slurm.JobID{Number: a.SlurmJobID})
			if a.CancelTries > 0 {
				p.log.Warn("scancel had no effect yet, sending it again", "allocation_id", a.ID, "slurm_job_id", a.SlurmJobID, "tries", a.CancelTries)
			}
		}
	}
	for i := range p.risen {
		a := &p.risen[i]
		if a.CancelSentMS != 0 && p.now.Sub(time.UnixMilli(a.CancelSentMS)) < p.set.cancelAgain(a.CancelTries) {
			continue
		}
		ids = append(ids, a.ID)
		jobs = append(jobs, slurm.JobID{Number: a.SlurmJobID})
		p.log.Warn("canceling an allocation that had been given up", "allocation_id", a.ID, "slurm_job_id", a.SlurmJobID)
	}
	if len(ids) == 0 {
		return nil
	}
	if err := p.store.SendingCancel(ctx, ids); err != nil {
		return err
	}
	if err := p.slurm.Cancel(ctx, jobs...); err != nil {
		p.log.Warn("scancel failed, it is sent again later", "allocations", len(ids), "error", err)
	}
	return nil
}
