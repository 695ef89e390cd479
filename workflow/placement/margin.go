package placement

import (
	"sort"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Margins is the part of an allocation's time in which jobs cannot run. Requesting an
// allocation and claiming jobs in it must use the same margins; otherwise no job fits
// in some allocations.
type Margins struct {
	Startup time.Duration // from the allocation's start to the first job
	Grace   time.Duration // reserved at its end: to signal jobs, wait for checkpoints, and report
}

// The defaults for an execution_config that does not set these values.
const (
	DefaultSigtermLead     = 30 * time.Second
	DefaultSigkillHeadroom = 60 * time.Second
)

// startup is the time from the start of an allocation to its first job.
const startup = time.Minute

// MarginsOf returns the margins for a workflow. Jobs are killed sigkill_headroom_seconds
// before the end of the allocation, and get SIGTERM sigterm_lead_seconds before that. A
// nil config means the defaults.
func MarginsOf(c *workflow.ExecutionConfig) Margins {
	lead, headroom := DefaultSigtermLead, DefaultSigkillHeadroom
	if c != nil && c.SigtermLeadSecs != nil {
		lead = boundedSeconds(*c.SigtermLeadSecs)
	}
	if c != nil && c.SigkillHeadroomSecs != nil {
		headroom = boundedSeconds(*c.SigkillHeadroomSecs)
	}
	return Margins{Startup: startup, Grace: lead + headroom}
}

// boundedSeconds converts seconds to a duration, limited to 0 to 100 years, so that no
// input of a user overflows.
func boundedSeconds(n int64) time.Duration {
	const most = 100 * 365 * 86400
	return time.Duration(min(max(n, 0), most)) * time.Second
}

// Within returns the margins of an allocation with this walltime. In a short allocation
// they shrink to a twentieth and a tenth of it, so that most of it can be used.
func (m Margins) Within(walltime time.Duration) Margins {
	return Margins{Startup: min(m.Startup, walltime/20), Grace: min(m.Grace, walltime/10)}
}

// Usable returns for how much of an allocation's walltime jobs can run.
func (m Margins) Usable(walltime time.Duration) time.Duration {
	w := m.Within(walltime)
	return walltime - w.Startup - w.Grace
}

// Walltime returns the walltime to request so that jobs can run for as long as work. It
// is in whole minutes, as Slurm counts in minutes.
func (m Margins) Walltime(work time.Duration) time.Duration {
	work = max(work, time.Second)
	least := work.Truncate(time.Minute)
	extra := sort.Search(int((m.Startup+m.Grace)/time.Minute)+2, func(n int) bool {
		return m.Usable(least+time.Duration(n)*time.Minute) >= work
	})
	return least + time.Duration(extra)*time.Minute
}

// longestFresh is the longest time that an allocation counts as fresh.
const longestFresh = 5 * time.Minute

// Fresh returns for how long after its start an allocation with this walltime counts
// as fresh: long enough for a node to boot and a runner to register, and short enough
// that a job loses little time.
func Fresh(walltime time.Duration) time.Duration {
	return min(max(walltime/10, min(time.Minute, walltime/4)), longestFresh)
}

// WholeRuntime returns the longest runtime that a job may declare and still start in an
// allocation, regardless of the margins. That is the whole walltime while the allocation
// is fresh, because neither a later start nor another allocation like it would give the
// job more time; afterwards it is 0.
func WholeRuntime(walltime, left time.Duration) time.Duration {
	if walltime <= 0 || walltime-left > Fresh(walltime) {
		return 0
	}
	return walltime
}

// Fits reports whether a job with this runtime can start in a fresh allocation with
// this walltime.
func (m Margins) Fits(runtime, walltime time.Duration) bool {
	return runtime <= max(m.Usable(walltime), WholeRuntime(walltime, walltime))
}

// WalltimeWithin returns Walltime, or the limit if only the margins exceed it. A limit
// of 0 means none.
func (m Margins) WalltimeWithin(work, most time.Duration) time.Duration {
	w := m.Walltime(work)
	if most > 0 && w > most && work <= most {
		return most
	}
	return w
}
