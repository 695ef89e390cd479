package workflow

// Evidence is what is known about how an attempt ended. A field with its zero value is
// not known.
type Evidence struct {
	ExitCode *int64 `json:"exit_code,omitempty"` // nil if a signal ended it
	Signal   int    `json:"signal,omitempty"`    // the signal that ended it
	// KilledBy says why we killed it: timeout, cancel, drain, fence or
	// memory_limit; empty if we did not.
	KilledBy KillReason `json:"killed_by,omitempty"`
	// EndedBy is the job whose failure made us end this one; nil: none. The daemon sets it.
	EndedBy *Culprit `json:"ended_by,omitempty"`
	// OOMKills is by how much the cgroup's oom_kill counter grew while the attempt ran.
	// OOMVictims is the number of its processes that died of SIGKILL in that time.
	// OOMExclusive says that no other processes were in the cgroup.
	OOMKills     int64 `json:"oom_kills,omitempty"`
	OOMVictims   int   `json:"oom_victims,omitempty"`
	OOMExclusive bool  `json:"oom_exclusive,omitempty"`
	// OOMShare says which jobs these kills hit; nil if that was not examined.
	OOMShare *OOMShare `json:"oom_share,omitempty"`

	MemoryLimitBytes int64   `json:"memory_limit_bytes,omitempty"` // the enforced limit
	RunLimitSeconds  int64   `json:"run_limit_seconds,omitempty"`  // the enforced run time
	PeakMemoryBytes  int64   `json:"peak_memory_bytes,omitempty"`
	AvgMemoryBytes   int64   `json:"avg_memory_bytes,omitempty"`
	PeakCPUPercent   float64 `json:"peak_cpu_percent,omitempty"`
	AvgCPUPercent    float64 `json:"avg_cpu_percent,omitempty"`
	CPUSeconds       float64 `json:"cpu_seconds,omitempty"`

	SpawnError string `json:"spawn_error,omitempty"` // why the process could not be started
	SpawnErrno int    `json:"spawn_errno,omitempty"`
	// SpawnOfCommand says that the command caused SpawnError (no such program, not
	// executable), not the node.
	SpawnOfCommand bool `json:"spawn_of_command,omitempty"`
	// NeverStarted says that no process was spawned, so that this was no attempt.
	NeverStarted bool `json:"never_started,omitempty"`

	MissingOutputs     []string `json:"missing_outputs,omitempty"` // paths of declared outputs, at most 10
	MissingOutputCount int      `json:"missing_output_count,omitempty"`
	DiskFull           bool     `json:"disk_full,omitempty"`
	StderrTail         string   `json:"stderr_tail,omitempty"`         // at most 64 KiB on the runner, 4 KiB on the wire
	TerminationMessage string   `json:"termination_message,omitempty"` // at most 4 KiB
	// StderrMatches are the stderr patterns of rules that the runner found.
	StderrMatches []string `json:"stderr_matches,omitempty"`
	// PatternsHash is the hash of the failure patterns that the runner searched for; empty
	// if there were none.
	PatternsHash string `json:"signs_hash,omitempty"`
	Category     string `json:"category,omitempty"` // from the workflow's failure_categories
	Subcategory  string `json:"subcategory,omitempty"`
	// CategoryHint is the hint of the category, CategoryLine the line that matched it.
	CategoryHint string `json:"category_hint,omitempty"`
	CategoryLine string `json:"category_line,omitempty"`
	LostRunner   bool   `json:"lost_runner,omitempty"` // its runner is gone; the end was not observed
	// Silent says that the lost runner had sent no turn for too long. The runner and the
	// attempt may still be alive, unless Slurm has ended them.
	Silent bool `json:"silent,omitempty"`
	// TimeLeftSeconds is how much of its time limit the allocation had left when Slurm
	// signaled it for an unknown reason and we therefore ended the attempt.
	TimeLeftSeconds int64  `json:"time_left_seconds,omitempty"`
	Note            string `json:"note,omitempty"`

	Slurm *SlurmEvidence `json:"slurm,omitempty"`
}

// SlurmEvidence is what Slurm reports about the allocation or step of an attempt.
type SlurmEvidence struct {
	JobState     string `json:"job_state,omitempty"`  // for example NODE_FAIL
	StepState    string `json:"step_state,omitempty"` // for example OUT_OF_MEMORY
	ExitCode     string `json:"exit_code,omitempty"`  // as sacct writes it, for example 0:125
	Reason       string `json:"reason,omitempty"`
	CanceledBy   string `json:"canceled_by,omitempty"`    // user id or name
	Owner        string `json:"owner,omitempty"`          // of the allocation, written like CanceledBy
	CanceledByUs bool   `json:"canceled_by_us,omitempty"` // our own recorded scancel
	Inferred     bool   `json:"inferred,omitempty"`       // JobState was inferred as Reason says; Slurm reports another state or none
	RestartCount int    `json:"restart_count,omitempty"`
}

// KillReason says why we ended an attempt.
type KillReason string

// The reasons for which an attempt is killed.
const (
	KilledByTimeout     KillReason = "timeout"
	KilledByCancel      KillReason = "cancel"
	KilledBySibling     KillReason = "sibling" // canceled because another job failed
	KilledByDrain       KillReason = "drain"
	KilledByPause       KillReason = "pause" // the workflow was paused; the daemon sets it
	KilledByFence       KillReason = "fence"
	KilledByMemoryLimit KillReason = "memory_limit"
)

// FullCategory returns the category with its subcategory: "gpu/xid".
func (e *Evidence) FullCategory() string {
	if e.Subcategory == "" {
		return e.Category
	}
	return e.Category + "/" + e.Subcategory
}
