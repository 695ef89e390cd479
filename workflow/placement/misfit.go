package placement

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// MisfitReason names why a job does not fit a runner; empty if it fits.
type MisfitReason string

// The values of MisfitReason.
const (
	MisfitPlace     MisfitReason = "place" // on the daemon's host, or not there
	MisfitLabels    MisfitReason = "labels"
	MisfitSlots     MisfitReason = "slots"
	MisfitScheduler MisfitReason = "scheduler"
	MisfitRuntime   MisfitReason = "runtime"
	MisfitNodes     MisfitReason = "nodes"
	MisfitGPUs      MisfitReason = "gpus"
	MisfitMemory    MisfitReason = "memory"
	MisfitCPUs      MisfitReason = "cpus"
	MisfitTogether  MisfitReason = "together" // enough of each, but not on a single node
)

// Misfit is why a job does not fit an offer, and by how much. Needed and Available
// are in the unit of the reason: bytes, seconds or a number.
type Misfit struct {
	Reason                  MisfitReason
	Needed, Available       int64
	JobLabels, RunnerLabels []string // of MisfitLabels
}

// String returns the reason in one line, for example "memory: needs 8.00 GiB, largest
// node has 4.00 GiB", or "fits".
func (m Misfit) String() string {
	largest := func(needed, available string) string {
		return fmt.Sprintf("%s: needs %s, largest node has %s", m.Reason, needed, available)
	}
	switch m.Reason {
	case MisfitPlace:
		if LoginPart(m.Needed) == LoginOnly {
			return "place: the runner takes only jobs that must run on the daemon's host"
		}
		return "place: job must run on the daemon's host"
	case MisfitLabels:
		return fmt.Sprintf("labels: job has %s, runner has %s", labelsText(m.JobLabels), labelsText(m.RunnerLabels))
	case MisfitSlots:
		return "slots: the runner takes no more jobs now"
	case MisfitScheduler:
		return fmt.Sprintf("scheduler: job belongs to scheduler %d, runner to another", m.Needed)
	case MisfitRuntime:
		return fmt.Sprintf("runtime: needs %s, runner has %s left", workflow.FormatSeconds(m.Needed), workflow.FormatSeconds(m.Available))
	case MisfitNodes:
		return fmt.Sprintf("nodes: needs %d whole nodes, %d idle", m.Needed, m.Available)
	case MisfitGPUs, MisfitCPUs:
		return largest(fmt.Sprint(m.Needed), fmt.Sprint(m.Available))
	case MisfitMemory:
		return largest(workflow.FormatBytes(m.Needed), workflow.FormatBytes(m.Available))
	case MisfitTogether:
		return "no single node has enough free CPUs, memory and GPUs at once"
	}
	return "fits"
}

func labelsText(labels []string) string {
	if len(labels) == 0 {
		return "none"
	}
	return strings.Join(labels, ",")
}

// WhyTooLarge returns why a job of a class can never run on a runner: what the job needs
// and what the runner has. The argument whole is the runner's offer while it is idle.
// WhyTooLarge returns "" if the job fits, and if only labels or schedulers, which users
// choose, keep it from the runner.
func WhyTooLarge(c Class, whole Offer) string {
	c.Labels, whole.Labels, c.SchedulerID, whole.Login = nil, nil, nil, LoginAlso
	_, m := NewPacker(whole).Fits(c)
	runner := func(needed, available string) string {
		return fmt.Sprintf("needs %s, the largest runner here has %s", needed, available)
	}
	switch m.Reason {
	case MisfitRuntime:
		return fmt.Sprintf("needs %s, the run has %s", workflow.FormatSeconds(m.Needed), workflow.FormatSeconds(max(m.Available, whole.WholeSeconds)))
	case MisfitNodes:
		return runner(workflow.CountOf(m.Needed, "node", "nodes"), fmt.Sprint(m.Available))
	case MisfitGPUs:
		return runner(workflow.CountOf(m.Needed, "GPU", "GPUs"), fmt.Sprint(m.Available))
	case MisfitCPUs:
		return runner(workflow.CountOf(m.Needed, "CPU", "CPUs"), fmt.Sprint(m.Available))
	case MisfitMemory:
		return runner(workflow.FormatBytes(m.Needed)+" of memory", workflow.FormatBytes(m.Available))
	case MisfitTogether:
		return "needs more CPUs, memory and GPUs on one node than a runner here has"
	}
	return ""
}
