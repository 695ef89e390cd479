// Package compute has what a workflow runs on: the allocations that were requested from
// Slurm, the nodes of runners, and the schedulers that describe both.
package compute

import "encoding/json"

// The types of a compute node, a scheduler and a scheduled compute node.
const (
	SchedulerLocal = "local"
	SchedulerSlurm = "slurm"
)

// Node is a runner on one node, or on several nodes that it serves together. Resources are
// per node.
type Node struct {
	ID                int64
	WorkflowID        int64
	Hostname          string
	PID               int64
	StartTime         string  // RFC 3339
	EndTime           *string // RFC 3339, of the allocation
	DurationSeconds   *float64
	IsActive          bool
	NumCPUs           int64
	MemoryGB          float64 // GiB
	NumGPUs           int64
	NumNodes          int64
	TimeLimit         *string // ISO 8601
	SchedulerConfigID *int64
	Type              string          // local, slurm
	Labels            []string        // sorted, without duplicates
	Scheduler         json.RawMessage // free form; nil if not given

	SampleCount     *int64
	PeakCPUPercent  *float64
	AvgCPUPercent   *float64
	PeakMemoryBytes *int64
	AvgMemoryBytes  *int64
}

// NodeUpdate is a change of a compute node: a nil field keeps the stored value. Labels
// cannot change.
type NodeUpdate struct {
	Hostname          *string
	PID               *int64
	StartTime         *string
	EndTime           *string
	DurationSeconds   *float64
	IsActive          *bool
	NumCPUs           *int64
	MemoryGB          *float64
	NumGPUs           *int64
	NumNodes          *int64
	TimeLimit         *string
	SchedulerConfigID *int64
	Type              *string
	Scheduler         json.RawMessage

	SampleCount     *int64
	PeakCPUPercent  *float64
	AvgCPUPercent   *float64
	PeakMemoryBytes *int64
	AvgMemoryBytes  *int64
}
