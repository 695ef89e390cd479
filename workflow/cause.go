package workflow

// CauseKind names why an attempt ended as it did.
type CauseKind string

// The causes.
const (
	CauseOK            CauseKind = "ok"
	CauseExit          CauseKind = "exit"
	CauseSignal        CauseKind = "signal"
	CauseOOM           CauseKind = "oom"
	CauseOOMPartial    CauseKind = "oom_partial" // exit 0, but the kernel killed one of its processes
	CauseTimeout       CauseKind = "timeout"     // its own time limit
	CauseWalltime      CauseKind = "walltime"    // the allocation's time limit
	CauseNodeFail      CauseKind = "node_fail"
	CausePreempted     CauseKind = "preempted"
	CauseCanceledUser  CauseKind = "canceled_user"
	CauseCanceledAdmin CauseKind = "canceled_admin"
	CauseLaunch        CauseKind = "launch"
	CauseOutputMissing CauseKind = "output_missing"
	CauseDiskFull      CauseKind = "disk_full"
	CauseLost          CauseKind = "lost"
	// CauseSubWorkflow means that the sub-workflow that the job stands for was not
	// successful.
	CauseSubWorkflow CauseKind = "sub_workflow"
	// CauseNeverStarted means that the job was claimed, but no process was spawned. It
	// does not count as an attempt.
	CauseNeverStarted CauseKind = "never_started"
)

// CauseKinds returns all causes.
func CauseKinds() []CauseKind {
	return []CauseKind{
		CauseOK, CauseExit, CauseSignal, CauseOOM, CauseOOMPartial, CauseTimeout, CauseWalltime, CauseNodeFail,
		CausePreempted, CauseCanceledUser, CauseCanceledAdmin, CauseLaunch, CauseOutputMissing, CauseDiskFull,
		CauseLost, CauseSubWorkflow, CauseNeverStarted,
	}
}

// Confidence says how certain a cause is.
type Confidence string

// The degrees of confidence.
const (
	Certain Confidence = "certain"
	Likely  Confidence = "likely"
	Guess   Confidence = "guess"
)

// Cause is why an attempt ended, with the resulting status and return code.
type Cause struct {
	Kind       CauseKind
	Confidence Confidence
	// Status is completed, failed, canceled or terminated; ready for
	// CauseNeverStarted.
	Status     JobStatus
	ReturnCode int64
	Text       string // the evidence in one line, for users
	// OfCommand says that the command caused the launch failure, not the node.
	OfCommand bool
	// ByDrain says that our own drain ended the attempt before the walltime did.
	ByDrain bool
	// ByUs says that we ended the attempt for a reason outside of it: a fence, or our
	// own scancel of its allocation. A drain sets ByDrain instead.
	ByUs bool
	// ByPause says that the attempt was ended because the workflow was paused: its job is
	// repeated, whatever the rules say.
	ByPause bool
	// HoldAsked says that a torc client reported the failure as pending_failed.
	HoldAsked bool
	// MayStillRun says that its processes may still run, on a node that cannot be
	// reached.
	MayStillRun bool
}

// Summary returns the text, preceded by the cause unless the text already implies it,
// and followed by the confidence unless that is certain.
func (c Cause) Summary() string {
	text := c.Text
	switch {
	case text == "":
		text = string(c.Kind)
	case c.Kind != CauseOK && c.Kind != CauseExit && c.Kind != CauseOOM:
		text = string(c.Kind) + ": " + text
	}
	if c.Confidence == Likely || c.Confidence == Guess {
		text += " (" + string(c.Confidence) + ")"
	}
	return text
}

// ReturnCodes holds the return codes that a workflow's execution_config sets; 0 means
// the default.
type ReturnCodes struct {
	Timeout int64 // default 152
	OOM     int64 // default 137
}

// The return codes of attempts without an exit code of their own.
const (
	DefaultTimeoutReturnCode  int64 = 152
	DefaultOOMReturnCode      int64 = 137
	ReturnCodeOutputMissing   int64 = 1
	ReturnCodeCannotExecute   int64 = 126
	ReturnCodeCommandNotFound int64 = 127
	ReturnCodeUnknown         int64 = -1   // ended, but it is unknown how
	ReturnCodeLost            int64 = -128 // lost: its end was not observed
)

// TimeoutCode returns the return code of attempts that exceeded their time limit.
func (c ReturnCodes) TimeoutCode() int64 { return orDefault(c.Timeout, DefaultTimeoutReturnCode) }

// OOMCode returns the return code of attempts that were killed because memory ran out.
func (c ReturnCodes) OOMCode() int64 { return orDefault(c.OOM, DefaultOOMReturnCode) }

func orDefault(v, def int64) int64 {
	if v == 0 {
		return def
	}
	return v
}

// ReturnCodes returns the return codes that the configuration sets; c may be nil.
func (c *ExecutionConfig) ReturnCodes() ReturnCodes {
	var codes ReturnCodes
	if c != nil && c.TimeoutExitCode != nil {
		codes.Timeout = *c.TimeoutExitCode
	}
	if c != nil && c.OOMExitCode != nil {
		codes.OOM = *c.OOMExitCode
	}
	return codes
}

// EndedByUs reports whether we ended the attempt for a reason outside of it. A policy's
// default action does not apply to such an end.
func (c Cause) EndedByUs() bool { return c.ByDrain || c.ByUs }

// PreemptedOrDrained reports whether the attempt was preempted, or ended by our own drain
// at the end of the allocation's time.
func (c Cause) PreemptedOrDrained() bool {
	return c.Kind == CausePreempted || c.Kind == CauseWalltime && c.ByDrain
}
