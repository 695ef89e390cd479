package workflow

import (
	"sort"
	"time"
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
func MarginsOf(c *ExecutionConfig) Margins {
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
