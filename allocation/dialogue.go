package allocation

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Slurm has the calls of Slurm that this package makes; *slurm.Client implements it.
type Slurm interface {
	Submit(ctx context.Context, s slurm.Submission) (slurm.Submitted, error)
	Queue(ctx context.Context, q slurm.QueueQuery) (slurm.Queue, error)
	Accounting(ctx context.Context, q slurm.AccountingQuery) (slurm.Accounting, error)
	ShowJob(ctx context.Context, id slurm.JobID) (detail slurm.JobDetail, found bool, err error)
	Cancel(ctx context.Context, ids ...slurm.JobID) error
	SetComment(ctx context.Context, id slurm.JobID, comment string) error
	Spare() int
}

// Runners is what the daemon knows of runners from their calls.
type Runners interface {
	// Silence returns for how long a runner has not called while the daemon was up.
	Silence(runnerID int64) time.Duration
	// Stop orders a runner to kill what it runs, to report, and to leave.
	Stop(runnerID int64, why string)
}
