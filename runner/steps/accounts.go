package steps

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Account returns what Slurm has accounted for those of the wanted steps that have ended,
// and their names. since is a time before their start.
func (m *Mode) Account(ctx context.Context, since time.Time, runID int64, wanted map[string]lease.LeaseRef) (names []string, accounts api.StepAccounts, err error) {
	answer, err := m.Slurm.Accounting(ctx, slurm.AccountingQuery{IDs: []slurm.JobID{m.Job}, Since: since})
	if err != nil {
		return nil, accounts, err
	}
	job := m.Job.String()
	for i := range answer.Records {
		rec := &answer.Records[i]
		ref, ok := wanted[rec.Name]
		if !ok || !rec.IsStep() || !rec.Over() {
			continue
		}
		names = append(names, rec.Name)
		stats := api.SlurmStats{JobID: ref.JobID, RunID: runID, AttemptID: ref.Attempt, SlurmJobID: &job}
		for field, n := range map[**int64]int64{
			&stats.MaxRSSBytes: rec.MaxRSS, &stats.MaxVMSizeBytes: rec.MaxVMSize, &stats.MaxDiskReadBytes: rec.MaxRead, &stats.MaxDiskWriteBytes: rec.MaxWrite,
		} {
			if n > 0 {
				*field = &n
			}
		}
		if cpu := rec.AveCPU.Seconds(); cpu > 0 {
			stats.AveCPUSeconds = &cpu
		}
		if rec.NodeList != "" {
			stats.NodeList = &rec.NodeList
		}
		accounts.Steps = append(accounts.Steps, stats)
	}
	return names, accounts, nil
}
