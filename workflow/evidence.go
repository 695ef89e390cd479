package workflow

// Evidence is what is known about how an attempt ended. The zero value of a
// field means that nothing is known of it.
type Evidence struct {
	ExitCode *int64 `json:"exit_code,omitempty"` // nil if it did not exit by itself
	Signal   int    `json:"signal,omitempty"`    // the signal that ended it
	// KilledBy says why we killed it: timeout, cancel, drain, fence or
	// memory_limit; empty if we did not.
	KilledBy KillReason `json:"killed_by,omitempty"`
	// EndedBy is the job for which it was ended, if we did so for a sibling's failure;
	// of the daemon.
	EndedBy *Culprit `json:"ended_by,omitempty"`
	// OOMKills is by how much the cgroup's oom_kill counter grew while the
	// attempt ran; OOMVictims are processes of this attempt that died by
	// SIGKILL then. OOMExclusive says that nothing else lived in the cgroup.
	OOMKills     int64 `json:"oom_kills,omitempty"`
	OOMVictims   int   `json:"oom_victims,omitempty"`
	OOMExclusive bool  `json:"oom_exclusive,omitempty"`
	// OOMShare says whose these kills are; nil if nobody looked.
	OOMShare *OOMShare `json:"oom_share,omitempty"`

	MemoryLimitBytes int64   `json:"memory_limit_bytes,omitempty"` // the enforced limit
	RunLimitSeconds  int64   `json:"run_limit_seconds,omitempty"`  // the enforced run time
	PeakMemoryBytes  int64   `json:"peak_memory_bytes,omitempty"`
	AvgMemoryBytes   int64   `json:"avg_memory_bytes,omitempty"`
	PeakCPUPercent   float64 `json:"peak_cpu_percent,omitempty"`
	AvgCPUPercent    float64 `json:"avg_cpu_percent,omitempty"`
	CPUSeconds       float64 `json:"cpu_seconds,omitempty"`

	SpawnError string `json:"spawn_error,omitempty"` // could not be started: the error's text
	SpawnErrno int    `json:"spawn_errno,omitempty"`
	// SpawnOfCommand says that the command itself is at fault for SpawnError
	// (no such program, not executable), not the node.
	SpawnOfCommand bool `json:"spawn_of_command,omitempty"`
	// NeverStarted says that no process was spawned: not an attempt at all.
	NeverStarted bool `json:"never_started,omitempty"`

	MissingOutputs     []string `json:"missing_outputs,omitempty"` // paths of declared outputs, at most 10
	MissingOutputCount int      `json:"missing_output_count,omitempty"`
	DiskFull           bool     `json:"disk_full,omitempty"`
	StderrTail         string   `json:"stderr_tail,omitempty"`         // at most 64 KiB on the runner, 4 KiB on the wire
	TerminationMessage string   `json:"termination_message,omitempty"` // at most 4 KiB
	// StderrMatches are those of the rules' stderr patterns that the runner found.
	StderrMatches []string `json:"stderr_matches,omitempty"`
	// PatternsHash is the hash of the failure patterns that the runner searched for; empty
	// if there were none.
	PatternsHash string `json:"signs_hash,omitempty"`
	Category     string `json:"category,omitempty"` // by the workflow's failure_categories
	Subcategory  string `json:"subcategory,omitempty"`
	// CategoryHint is what the workflow says to the category, and CategoryLine the
	// line by which it was found.
	CategoryHint string `json:"category_hint,omitempty"`
	CategoryLine string `json:"category_line,omitempty"`
	LostRunner   bool   `json:"lost_runner,omitempty"` // its runner is gone; nobody saw the end
	// Silent says of a lost runner that it said nothing for too long. It may still
	// be there, with the attempt, unless Slurm has ended it.
	Silent bool `json:"silent,omitempty"`
	// TimeLeftSeconds is how much of its time limit the allocation had left when
	// a signal of Slurm, for which nobody knew the reason, had us end the attempt.
	TimeLeftSeconds int64  `json:"time_left_seconds,omitempty"`
	Note            string `json:"note,omitempty"`

	Slurm *SlurmEvidence `json:"slurm,omitempty"`
}

// SlurmEvidence is what Slurm says about the allocation or step of an attempt.
type SlurmEvidence struct {
	JobState     string `json:"job_state,omitempty"`  // for example NODE_FAIL
	StepState    string `json:"step_state,omitempty"` // for example OUT_OF_MEMORY
	ExitCode     string `json:"exit_code,omitempty"`  // as sacct writes it, for example 0:125
	Reason       string `json:"reason,omitempty"`
	CanceledBy   string `json:"canceled_by,omitempty"`    // user id or name
	Owner        string `json:"owner,omitempty"`          // of the allocation, written like CanceledBy
	CanceledByUs bool   `json:"canceled_by_us,omitempty"` // our own recorded scancel
	Inferred     bool   `json:"inferred,omitempty"`       // JobState follows from what Reason says; Slurm has another word or none
	RestartCount int    `json:"restart_count,omitempty"`
}

// KillReason says why we ended an attempt.
type KillReason string

// The reasons for which an attempt is killed.
const (
	KilledByTimeout     KillReason = "timeout"
	KilledByCancel      KillReason = "cancel"
	KilledBySibling     KillReason = "sibling" // canceled, as another job failed
	KilledByDrain       KillReason = "drain"
	KilledByFence       KillReason = "fence"
	KilledByMemoryLimit KillReason = "memory_limit"
)

// FullCategory is the category with its subcategory.
func (e *Evidence) FullCategory() string {
	if e.Subcategory == "" {
		return e.Category
	}
	return e.Category + "/" + e.Subcategory
}
