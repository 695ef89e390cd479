package runner

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Defaults of an execution_config.
const (
	defaultLead     = 30 * time.Second
	defaultHeadroom = 60 * time.Second
)

// policy is how the jobs of a workflow are limited and ended.
type policy struct {
	signal         unix.Signal
	lead           time.Duration // from the signal to SIGKILL
	headroom       time.Duration // from SIGKILL to the end of the allocation
	limitResources bool
	enforceRuntime bool
}

func newPolicy(config *workflow.ExecutionConfig, enforceRuntime bool) policy {
	p := policy{
		signal: unix.SIGTERM, lead: defaultLead, headroom: defaultHeadroom,
		limitResources: true, enforceRuntime: enforceRuntime,
	}
	if config == nil {
		return p
	}
	p.signal = terminationSignal(config.TerminationSignal)
	if config.SigtermLeadSecs != nil {
		p.lead = seconds(*config.SigtermLeadSecs)
	}
	if config.SigkillHeadroomSecs != nil {
		p.headroom = seconds(*config.SigkillHeadroomSecs)
	}
	if config.LimitResources != nil {
		p.limitResources = *config.LimitResources
	}
	return p
}

// maxSeconds keeps durations representable, whatever the user has set.
const maxSeconds = 100 * 365 * 86400

func seconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), maxSeconds)) * time.Second
}

// terminationSignal returns the signal of a name, with or without SIG; SIGTERM for
// unknown names.
func terminationSignal(name string) unix.Signal {
	switch strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "SIG") {
	case "INT":
		return unix.SIGINT
	case "USR1":
		return unix.SIGUSR1
	case "USR2":
		return unix.SIGUSR2
	case "HUP":
		return unix.SIGHUP
	case "KILL":
		return unix.SIGKILL
	}
	return unix.SIGTERM
}

// memoryLimit returns the memory that an attempt may use, 0 for no limit.
func (p policy) memoryLimit(g *lease.Grant) int64 {
	if !p.limitResources || g.Requirements == workflow.DefaultRequirements {
		return 0
	}
	return g.MemoryBytes
}

// runLimit returns how long an attempt may run, 0 for no limit, and the grace between
// its signal and SIGKILL.
func (p policy) runLimit(g *lease.Grant) (after, grace time.Duration) {
	switch {
	case g.RunTimeout != nil && g.RunTimeout.AfterSeconds > 0:
		return seconds(g.RunTimeout.AfterSeconds), seconds(g.RunTimeout.GraceSeconds)
	case p.enforceRuntime && g.Requirements != workflow.DefaultRequirements && g.RuntimeSeconds > 0:
		return seconds(g.RuntimeSeconds), p.lead
	}
	return 0, 0
}

// schedule is the timetable of a runner that must end at a known time.
type schedule struct {
	end     time.Time // zero for none
	drainAt time.Time // jobs are signaled
	lead    time.Duration
}

// schedule divides the time between start and end. If it is short, the margins shrink
// like those in requests for allocations.
func (p policy) schedule(start, end time.Time) schedule {
	if end.IsZero() {
		return schedule{lead: p.lead}
	}
	lead, margin := p.lead, p.lead+p.headroom
	within := placement.Margins{Grace: margin}.Within(max(0, end.Sub(start))).Grace
	if within < margin {
		lead = time.Duration(float64(lead) * float64(within) / float64(margin))
		margin = within
	}
	return schedule{end: end, drainAt: end.Add(-margin), lead: lead}
}

// headroom returns the time between SIGKILL and the end.
func (s schedule) headroom() time.Duration { return s.end.Sub(s.drainAt) - s.lead }

// warningEarly is by how much Slurm may be early with a warning.
const warningEarly = time.Minute

// warned reports whether a signal that comes now is the warning before the end, and
// how long jobs may then still run, so that enough time is left to report them.
func (s schedule) warned(now time.Time, lead time.Duration) (time.Duration, bool) {
	left := s.end.Sub(now)
	if s.end.IsZero() || left <= 0 || left > 2*s.end.Sub(s.drainAt)+warningEarly {
		return 0, false
	}
	return max(0, min(lead, left-s.headroom())), true
}

// left returns the whole seconds that are left for jobs, nil without end.
func (s schedule) left(now time.Time) *int64 {
	if s.end.IsZero() {
		return nil
	}
	left := max(0, int64(s.drainAt.Sub(now)/time.Second))
	return &left
}

// parseEnd parses the end time of an answer; the zero time if it is empty.
func parseEnd(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("end time: %w", err)
	}
	return end, nil
}
