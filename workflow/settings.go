package workflow

import "encoding/json"

// ExecutionConfig says how jobs are run. A nil or empty field was not given; the code that
// reads it uses its default.
type ExecutionConfig struct {
	Mode                  string                 `json:"mode,omitempty"` // direct, slurm, auto
	SigkillHeadroomSecs   *int64                 `json:"sigkill_headroom_seconds,omitempty"`
	TimeoutExitCode       *int64                 `json:"timeout_exit_code,omitempty"`
	StaggeredStart        *bool                  `json:"staggered_start,omitempty"`
	LimitResources        *bool                  `json:"limit_resources,omitempty"`
	TerminationSignal     string                 `json:"termination_signal,omitempty"`
	SigtermLeadSecs       *int64                 `json:"sigterm_lead_seconds,omitempty"`
	OOMExitCode           *int64                 `json:"oom_exit_code,omitempty"`
	SrunTerminationSignal string                 `json:"srun_termination_signal,omitempty"`
	SrunMPI               string                 `json:"srun_mpi,omitempty"`
	EnableCPUBind         *bool                  `json:"enable_cpu_bind,omitempty"`
	Stdio                 *StdioConfig           `json:"stdio,omitempty"`
	JobStdioOverrides     map[string]StdioConfig `json:"job_stdio_overrides,omitempty"`
}

// StdioMode says which output streams of a job are stored, and in which files.
type StdioMode string

// The stdio modes.
const (
	StdioSeparate StdioMode = "separate" // .o and .e
	StdioCombined StdioMode = "combined" // .log
	StdioNoStdout StdioMode = "no_stdout"
	StdioNoStderr StdioMode = "no_stderr"
	StdioNone     StdioMode = "none"
)

// Valid reports whether m is one of the five modes.
func (m StdioMode) Valid() bool {
	switch m {
	case StdioSeparate, StdioCombined, StdioNoStdout, StdioNoStderr, StdioNone:
		return true
	}
	return false
}

// StdioConfig is a stdio mode, and whether the files are deleted after success.
type StdioConfig struct {
	Mode            StdioMode `json:"mode,omitempty"`
	DeleteOnSuccess *bool     `json:"delete_on_success,omitempty"`
}

// DynamicJobsConfig limits spawn_jobs.
type DynamicJobsConfig struct {
	MaxIterations *int64 `json:"max_iterations,omitempty"` // per lineage; at least 1
}

// ResourceMonitorConfig says what a runner measures.
type ResourceMonitorConfig struct {
	Enabled               bool               `json:"enabled"`
	Granularity           string             `json:"granularity"` // summary, time_series
	SampleIntervalSeconds int64              `json:"sample_interval_seconds"`
	FlushIntervalSeconds  int64              `json:"flush_interval_seconds"`
	GeneratePlots         bool               `json:"generate_plots"`
	Jobs                  *JobMonitorConfig  `json:"jobs"`
	ComputeNode           *NodeMonitorConfig `json:"compute_node"`
}

// JobMonitorConfig is the jobs block of ResourceMonitorConfig.
type JobMonitorConfig struct {
	Enabled     bool   `json:"enabled"`
	Granularity string `json:"granularity"`
}

// NodeMonitorConfig is the compute_node block of ResourceMonitorConfig.
type NodeMonitorConfig struct {
	Enabled     bool   `json:"enabled"`
	Granularity string `json:"granularity"`
	CPU         bool   `json:"cpu"`
	Memory      bool   `json:"memory"`
}

// The defaults of a resource monitor.
const (
	defaultGranularity    = "summary"
	defaultSampleInterval = 10
	defaultFlushInterval  = 300
)

// UnmarshalJSON reads the configuration; a missing field gets torc's default.
func (c *ResourceMonitorConfig) UnmarshalJSON(text []byte) error {
	type plain ResourceMonitorConfig
	v := plain{Granularity: defaultGranularity, SampleIntervalSeconds: defaultSampleInterval, FlushIntervalSeconds: defaultFlushInterval}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*c = ResourceMonitorConfig(v)
	return nil
}

// UnmarshalJSON reads the block; a missing field gets torc's default.
func (c *JobMonitorConfig) UnmarshalJSON(text []byte) error {
	type plain JobMonitorConfig
	v := plain{Granularity: defaultGranularity}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*c = JobMonitorConfig(v)
	return nil
}

// UnmarshalJSON reads the block; a missing field gets torc's default.
func (c *NodeMonitorConfig) UnmarshalJSON(text []byte) error {
	type plain NodeMonitorConfig
	v := plain{Granularity: defaultGranularity, CPU: true, Memory: true}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*c = NodeMonitorConfig(v)
	return nil
}
