package placement

import (
	"sort"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Margins is the part of an allocation's time in which jobs cannot run. Who
// asks for an allocation and who claims jobs inside it must count with the same
// margins, else there are allocations in which nothing fits.
type Margins struct {
	Startup time.Duration // from the allocation's start to the first job
	Grace   time.Duration // kept at its end: to signal, to wait for checkpoints, to report
}

// What an execution_config that does not say it means.
const (
	DefaultSigtermLead     = 30 * time.Second
	DefaultSigkillHeadroom = 60 * time.Second
)

// startup is how long an allocation takes to its first job.
const startup = time.Minute

// MarginsOf returns the margins for a workflow: jobs are told to end the lead
// time before they are killed, and that is the headroom before the end of the
// allocation. A nil config is one that says nothing.
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

// boundedSeconds keeps durations representable whatever a user wrote.
func boundedSeconds(n int64) time.Duration {
	const most = 100 * 365 * 86400
	return time.Duration(min(max(n, 0), most)) * time.Second
}

// Within returns the margins of an allocation of so much time. In a short one
// they shrink to a twentieth and a tenth of it, so that most of it is used.
func (m Margins) Within(walltime time.Duration) Margins {
	return Margins{Startup: min(m.Startup, walltime/20), Grace: min(m.Grace, walltime/10)}
}

// Usable returns how long jobs can run in an allocation, one after the other.
func (m Margins) Usable(walltime time.Duration) time.Duration {
	w := m.Within(walltime)
	return walltime - w.Startup - w.Grace
}

// Walltime returns the time to ask for so that jobs can run for so long: whole
// minutes, in which Slurm counts.
func (m Margins) Walltime(work time.Duration) time.Duration {
	work = max(work, time.Second)
	least := work.Truncate(time.Minute)
	extra := sort.Search(int((m.Startup+m.Grace)/time.Minute)+2, func(n int) bool {
		return m.Usable(least+time.Duration(n)*time.Minute) >= work
	})
	return least + time.Duration(extra)*time.Minute
}

// longestFresh is for how long an allocation counts as fresh at most.
const longestFresh = 5 * time.Minute

// Fresh returns for how long after its start an allocation of so much time counts
// as fresh: long enough for a node to boot and a runner to register, and short
// enough that little of a job's time is lost.
func Fresh(walltime time.Duration) time.Duration {
	return min(max(walltime/10, min(time.Minute, walltime/4)), longestFresh)
}

// WholeRuntime returns the longest runtime that a job may declare to start in an
// allocation of so much time of which so much is left, whatever the margins say:
// all of the time while the allocation is fresh, as no later moment and no other
// allocation like it would suit the job better; 0 after that.
func WholeRuntime(walltime, left time.Duration) time.Duration {
	if walltime <= 0 || walltime-left > Fresh(walltime) {
		return 0
	}
	return walltime
}

// Fits reports whether a job of such a runtime can start in a fresh allocation of
// so much time.
func (m Margins) Fits(runtime, walltime time.Duration) bool {
	return runtime <= max(m.Usable(walltime), WholeRuntime(walltime, walltime))
}

// WalltimeWithin is Walltime where no more than a limit may be asked for; 0 is no
// limit. Where only the margins are too much, they bend.
func (m Margins) WalltimeWithin(work, most time.Duration) time.Duration {
	w := m.Walltime(work)
	if most > 0 && w > most && work <= most {
		return most
	}
	return w
}
