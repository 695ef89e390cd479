package cli

import (
	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/scheduler"
)

// SlurmServerConfig has the intervals and timeouts of the daemon with Slurm, in seconds;
// zero is the default. It is for sites whose slurmctld must not be polled often, and for
// tests.
type SlurmServerConfig struct {
	PollIntervalSecs float64 `toml:"poll_interval_secs,omitzero" json:"poll_interval_secs,omitempty"` // between polls while all is well
	HurrySecs        float64 `toml:"hurry_secs,omitzero" json:"hurry_secs,omitempty"`                 // between polls while an allocation is ending
	LeastSecs        float64 `toml:"least_secs,omitzero" json:"least_secs,omitempty"`                 // between polls at least
	CallTimeoutSecs  float64 `toml:"call_timeout_secs,omitzero" json:"call_timeout_secs,omitempty"`   // of a program of Slurm
	CallsPerMinute   int64   `toml:"calls_per_minute,omitzero" json:"calls_per_minute,omitempty"`     // of programs of Slurm, save sbatch and scancel

	AbsentSecs             float64 `toml:"absent_secs,omitzero" json:"absent_secs,omitempty"`                           // between two polls that do not find an allocation
	AskedForSecs           float64 `toml:"asked_for_secs,omitzero" json:"asked_for_secs,omitempty"`                     // that a job may take to appear after an unclear sbatch
	AccountingPatienceSecs float64 `toml:"accounting_patience_secs,omitzero" json:"accounting_patience_secs,omitempty"` // of waiting for an accounting that does not answer
	CausePatienceSecs      float64 `toml:"cause_patience_secs,omitzero" json:"cause_patience_secs,omitempty"`           // of waiting for the cause of an end
	CompletingSecs         float64 `toml:"completing_secs,omitzero" json:"completing_secs,omitempty"`                   // an allocation may take to leave its nodes
	HeartbeatTimeoutSecs   float64 `toml:"heartbeat_timeout_secs,omitzero" json:"heartbeat_timeout_secs,omitempty"`     // of silence until an allocation is canceled
	NoRunnerSecs           float64 `toml:"no_runner_secs,omitzero" json:"no_runner_secs,omitempty"`                     // without a runner until an allocation is canceled
	NeverSecs              float64 `toml:"never_secs,omitzero" json:"never_secs,omitempty"`                             // pending with a reason for which Slurm never starts it, until it is canceled
	StopSecs               float64 `toml:"stop_secs,omitzero" json:"stop_secs,omitempty"`                               // that runners may take to leave a preempted allocation
	CancelAgainSecs        float64 `toml:"cancel_again_secs,omitzero" json:"cancel_again_secs,omitempty"`               // until a scancel without effect is repeated
	CommentSecs            float64 `toml:"comment_secs,omitzero" json:"comment_secs,omitempty"`                         // between two comments that show progress in squeue
	DaemonPatienceSecs     float64 `toml:"daemon_patience_secs,omitzero" json:"daemon_patience_secs,omitempty"`         // a runner waits at its start for a daemon that does not answer
	SignalLeadSecs         float64 `toml:"signal_lead_secs,omitzero" json:"signal_lead_secs,omitempty"`                 // before its end that Slurm signals a runner

	MinWalltimeSecs float64 `toml:"min_walltime_secs,omitzero" json:"min_walltime_secs,omitempty"` // minimum of a request
	RetryAfterSecs  float64 `toml:"retry_after_secs,omitzero" json:"retry_after_secs,omitempty"`   // after a temporary error of sbatch; doubles
	ProbeAfterSecs  float64 `toml:"probe_after_secs,omitzero" json:"probe_after_secs,omitempty"`   // after requests were stopped; doubles
	Requeue         bool    `toml:"requeue,omitzero" json:"requeue,omitempty"`                     // let Slurm requeue allocations
	Forecast        bool    `toml:"forecast" json:"forecast"`                                      // plan by idle nodes and expected waits; true by default
}

// Allocation returns the settings of the allocation loop.
func (c *SlurmServerConfig) Allocation() allocation.Settings {
	return allocation.Settings{
		Poll: Seconds(c.PollIntervalSecs), Hurry: Seconds(c.HurrySecs), Least: Seconds(c.LeastSecs),
		AbsentFor: Seconds(c.AbsentSecs), AskedFor: Seconds(c.AskedForSecs),
		AccountingPatience: Seconds(c.AccountingPatienceSecs), CausePatience: Seconds(c.CausePatienceSecs),
		CompletingFor: Seconds(c.CompletingSecs), Heartbeat: Seconds(c.HeartbeatTimeoutSecs), NoRunner: Seconds(c.NoRunnerSecs),
		NeverFor: Seconds(c.NeverSecs), StopFor: Seconds(c.StopSecs), CancelAgain: Seconds(c.CancelAgainSecs), CommentEvery: Seconds(c.CommentSecs),
	}
}

// Scheduling returns the settings of the scheduler.
func (c *SlurmServerConfig) Scheduling() scheduler.Settings {
	return scheduler.Settings{
		MinWalltime: Seconds(c.MinWalltimeSecs), RetryAfter: Seconds(c.RetryAfterSecs), ProbeAfter: Seconds(c.ProbeAfterSecs),
	}
}
