package api

import "github.com/torc-slurm/torc-slurm/workflow"

// ResourceUse is what a job used of a resource, and what it requested.
type ResourceUse struct {
	JobID           int64             `json:"job_id"`
	JobName         string            `json:"job_name"`
	ResourceType    workflow.Resource `json:"resource_type"`
	Specified       string            `json:"specified"`
	PeakUsed        string            `json:"peak_used"`
	OverUtilization string            `json:"over_utilization"`
}

// ResourceFilter selects comparisons of used and requested resources.
type ResourceFilter struct {
	RunID          *int64  // of this run; nil: the latest result of each job
	All            bool    // also uses within their limits
	IncludeFailed  bool    // also attempts that did not succeed
	MinOverPercent float64 // omit excesses of less than this percentage
}

// ResourceReport compares used and requested resources of the jobs of a workflow.
type ResourceReport struct {
	WorkflowID           int64            `json:"workflow_id"`
	RunID                *int64           `json:"run_id,omitempty"`
	TotalResults         int              `json:"total_results"`
	OverUtilizationCount int              `json:"over_utilization_count"`
	Violations           []ResourceUse    `json:"violations"`
	WithinLimits         []ResourceUse    `json:"within_limits,omitempty"`
	ViolationsCount      *int             `json:"resource_violations_count,omitempty"`
	ResourceViolations   []FailedResource `json:"resource_violations,omitempty"`
}

// FailedResource says which resource a failed job may have lacked.
type FailedResource struct {
	JobID                 int64   `json:"job_id"`
	JobName               string  `json:"job_name"`
	ReturnCode            int64   `json:"return_code"`
	ExecTimeMinutes       float64 `json:"exec_time_minutes"`
	ConfiguredMemory      string  `json:"configured_memory"`
	ConfiguredRuntime     string  `json:"configured_runtime"`
	ConfiguredCPUs        int64   `json:"configured_cpus"`
	PeakMemoryBytes       *int64  `json:"peak_memory_bytes,omitempty"`
	PeakMemoryFormatted   string  `json:"peak_memory_formatted,omitempty"`
	MemoryViolation       bool    `json:"memory_violation,omitempty"`
	OOMReason             string  `json:"oom_reason,omitempty"`
	MemoryOverUtilization string  `json:"memory_over_utilization,omitempty"`
	LikelyTimeout         bool    `json:"likely_timeout,omitempty"`
	TimeoutReason         string  `json:"timeout_reason,omitempty"`
	RuntimeUtilization    string  `json:"runtime_utilization,omitempty"`
	LikelyCPUViolation    bool    `json:"likely_cpu_violation,omitempty"`
	PeakCPUPercent        float64 `json:"peak_cpu_percent,omitempty"`
	LikelyRuntime         bool    `json:"likely_runtime_violation,omitempty"`
}

// CorrectResourcesRequest requests that requirements are adapted to what jobs used.
type CorrectResourcesRequest struct {
	DryRun bool `json:"dry_run,omitempty"` // only propose
	// New values are the largest use times a multiplier: at least 1, by default 1.2.
	MemoryMultiplier  *float64 `json:"memory_multiplier,omitempty"`
	CPUMultiplier     *float64 `json:"cpu_multiplier,omitempty"`
	RuntimeMultiplier *float64 `json:"runtime_multiplier,omitempty"`
	NoDownsize        bool     `json:"no_downsize,omitempty"` // lower no value
	JobIDs            []int64  `json:"job_ids,omitempty"`     // only consider these jobs; empty: all
}

// Proposes reports whether the request changes nothing.
func (r *CorrectResourcesRequest) Proposes() bool { return r.DryRun }

// CorrectionReport says how requirements were changed, or would be.
type CorrectionReport struct {
	Status              string       `json:"status"`
	WorkflowID          int64        `json:"workflow_id"`
	Message             string       `json:"message,omitempty"`
	DryRun              bool         `json:"dry_run"`
	NoDownsize          bool         `json:"no_downsize"`
	MemoryMultiplier    float64      `json:"memory_multiplier"`
	CPUMultiplier       float64      `json:"cpu_multiplier"`
	RuntimeMultiplier   float64      `json:"runtime_multiplier"`
	RequirementsUpdated int          `json:"resource_requirements_updated"`
	JobsAnalyzed        int          `json:"jobs_analyzed"`
	MemoryCorrections   int          `json:"memory_corrections"`
	RuntimeCorrections  int          `json:"runtime_corrections"`
	CPUCorrections      int          `json:"cpu_corrections"`
	DownsizeMemory      int          `json:"downsize_memory_corrections"`
	DownsizeRuntime     int          `json:"downsize_runtime_corrections"`
	DownsizeCPU         int          `json:"downsize_cpu_corrections"`
	Adjustments         []Adjustment `json:"adjustments"`
}

// Adjustment is one changed resource.
type Adjustment struct {
	ResourceRequirementsID   int64             `json:"resource_requirements_id"`
	ResourceRequirementsName string            `json:"resource_requirements_name"`
	Resource                 workflow.Resource `json:"resource"`
	Old                      string            `json:"old"`
	New                      string            `json:"new"`
	Downsize                 bool              `json:"downsize"`
	JobIDs                   []int64           `json:"job_ids"`
	Reason                   string            `json:"reason"`
}

// ResourceStatistics is what jobs used, by the resource requirements that they share.
type ResourceStatistics struct {
	WorkflowID int64                    `json:"workflow_id"`
	Groups     []RequirementsStatistics `json:"groups"`
}

// RequirementsStatistics is what jobs with the same requirements used.
type RequirementsStatistics struct {
	ResourceRequirementsID int64         `json:"resource_requirements_id"`
	Name                   string        `json:"name"`
	NumCPUs                int64         `json:"num_cpus"`
	NumGPUs                int64         `json:"num_gpus"`
	NumNodes               int64         `json:"num_nodes"`
	Memory                 string        `json:"memory"`
	Runtime                string        `json:"runtime"`
	MemoryBytes            Range         `json:"peak_memory_bytes"`
	CPUPercent             Range         `json:"peak_cpu_percent"` // 100 for one CPU
	Seconds                Range         `json:"exec_seconds"`
	Jobs                   []MeasuredJob `json:"jobs"`
}

// Range describes a set of numbers. All are 0 if nothing was measured.
type Range struct {
	Count  int     `json:"count"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
}

// MeasuredJob is what the latest attempt of a job used.
type MeasuredJob struct {
	JobID           int64              `json:"job_id"`
	JobName         string             `json:"job_name"`
	Status          workflow.JobStatus `json:"status"`
	ExecSeconds     float64            `json:"exec_seconds"`
	PeakMemoryBytes *int64             `json:"peak_memory_bytes,omitempty"`
	PeakCPUPercent  *float64           `json:"peak_cpu_percent,omitempty"`
}
