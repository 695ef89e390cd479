package api

// StartRunRequest requests that a run of a workflow starts.
type StartRunRequest struct {
	DryRun bool `json:"dry_run,omitempty"` // only propose
}

// RunStart is the run that was started, or would be, or why there is none to start.
type RunStart struct {
	WorkflowID int64 `json:"workflow_id"`
	DryRun     bool  `json:"dry_run"`
	Started    bool  `json:"started"` // false: nothing was to be started
	RunID      int64 `json:"run_id"`  // of the started run, otherwise of the current one
	NewRun     bool  `json:"new_run"` // the run id grew by one
	// OnlyUninitialized: complete jobs stay, and the others run with their dependants.
	OnlyUninitialized bool   `json:"only_uninitialized"`
	Reason            string `json:"reason"`
	Ready             int64  `json:"ready"` // jobs, afterwards
	Blocked           int64  `json:"blocked"`
	// DueActions are triggered afterwards, and not claimed.
	DueActions []int64 `json:"due_actions"`
	// RequiredFiles and CPUSeconds are of a dry run: the paths of the files that must exist,
	// and the most that the jobs may use, by the required CPUs and runtime.
	RequiredFiles []string `json:"required_files,omitempty"`
	CPUSeconds    int64    `json:"cpu_seconds"`
}
