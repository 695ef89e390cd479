// Package usage compares what jobs used with what they requested, and calculates how their
// requirements have to change.
package usage

import (
	"fmt"
	"math"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// JobUse is what an attempt used, and what its job requested.
type JobUse struct {
	JobID           int64
	JobName         string
	Status          workflow.JobStatus
	ReturnCode      int64
	ExecSeconds     float64
	PeakMemoryBytes *int64   // nil: not measured
	PeakCPUPercent  *float64 // 100 for one CPU; nil: not measured
	Requirements    workflow.ResourceRequirements
}

// ResourceUse is how much of one resource a job used.
type ResourceUse struct {
	JobID        int64
	JobName      string
	Resource     workflow.Resource
	Requested    float64 // bytes, percent of a CPU, or seconds
	Used         float64 // the same
	Requirements workflow.ResourceRequirements
}

// OverPercent returns by how much the use exceeded the request, in percent of the request;
// negative if it was below.
func (u ResourceUse) OverPercent() float64 { return (u.Used/u.Requested - 1) * 100 }

// RequestedText returns the request for display.
func (u ResourceUse) RequestedText() string { return amount(u.Resource, u.Requested) }

// UsedText returns the use for display.
func (u ResourceUse) UsedText() string { return amount(u.Resource, u.Used) }

func amount(r workflow.Resource, v float64) string {
	switch r {
	case workflow.ResourceMemory:
		return workflow.FormatBytes(int64(v))
	case workflow.ResourceCPU:
		return fmt.Sprintf("%.1f%%", v)
	}
	return workflow.FormatSeconds(int64(math.Ceil(v)))
}

// Utilization returns what an attempt used and what its job requested, for each measured
// resource. It returns nothing for the requirements named default, which are never enforced.
func (u JobUse) Utilization() []ResourceUse {
	if !u.Requirements.Enforced() {
		return nil
	}
	var all []ResourceUse
	add := func(r workflow.Resource, requested, used float64) {
		if requested > 0 {
			all = append(all, ResourceUse{u.JobID, u.JobName, r, requested, used, u.Requirements})
		}
	}
	if memory, err := workflow.ParseMemory(u.Requirements.Memory); err == nil && u.PeakMemoryBytes != nil {
		add(workflow.ResourceMemory, float64(memory), float64(*u.PeakMemoryBytes))
	}
	if u.PeakCPUPercent != nil {
		add(workflow.ResourceCPU, float64(u.Requirements.NumCPUs)*100, *u.PeakCPUPercent)
	}
	if runtime, err := workflow.ParseRuntime(u.Requirements.Runtime); err == nil {
		add(workflow.ResourceRuntime, float64(runtime), u.ExecSeconds)
	}
	return all
}
