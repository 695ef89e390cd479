package workflow

import (
	"fmt"
	"math"
)

// Resource names what a job uses of its requirements.
type Resource string

// The resources that are compared.
const (
	ResourceMemory  Resource = "Memory"
	ResourceCPU     Resource = "CPU"
	ResourceRuntime Resource = "Runtime"
)

// JobUse is what an attempt used, beside what its job had asked for.
type JobUse struct {
	JobID           int64
	JobName         string
	Status          JobStatus
	ReturnCode      int64
	ExecSeconds     float64
	PeakMemoryBytes *int64   // nil: not measured
	PeakCPUPercent  *float64 // 100 for one CPU; nil: not measured
	Requirements    ResourceRequirements
}

// ResourceUse is how much of one resource a job used.
type ResourceUse struct {
	JobID        int64
	JobName      string
	Resource     Resource
	Requested    float64 // bytes, percent of a CPU, or seconds
	Used         float64 // the same
	Requirements ResourceRequirements
}

// OverPercent is by how much the use was above the request, in percent of the
// request; negative if it was below.
func (u ResourceUse) OverPercent() float64 { return (u.Used/u.Requested - 1) * 100 }

// RequestedText writes the request for people.
func (u ResourceUse) RequestedText() string { return u.Resource.amount(u.Requested) }

// UsedText writes the use for people.
func (u ResourceUse) UsedText() string { return u.Resource.amount(u.Used) }

func (r Resource) amount(v float64) string {
	switch r {
	case ResourceMemory:
		return FormatBytes(int64(v))
	case ResourceCPU:
		return fmt.Sprintf("%.1f%%", v)
	}
	return FormatSeconds(int64(math.Ceil(v)))
}

// Utilization compares what an attempt used with what its job had asked for,
// as far as that was measured. The requirements named default are never
// enforced, so nothing is compared with them.
func (u JobUse) Utilization() []ResourceUse {
	if !u.Requirements.Enforced() {
		return nil
	}
	var all []ResourceUse
	add := func(r Resource, requested, used float64) {
		if requested > 0 {
			all = append(all, ResourceUse{u.JobID, u.JobName, r, requested, used, u.Requirements})
		}
	}
	if memory, err := ParseMemory(u.Requirements.Memory); err == nil && u.PeakMemoryBytes != nil {
		add(ResourceMemory, float64(memory), float64(*u.PeakMemoryBytes))
	}
	if u.PeakCPUPercent != nil {
		add(ResourceCPU, float64(u.Requirements.NumCPUs)*100, *u.PeakCPUPercent)
	}
	if runtime, err := ParseRuntime(u.Requirements.Runtime); err == nil {
		add(ResourceRuntime, float64(runtime), u.ExecSeconds)
	}
	return all
}
