package workflow

// CauseKind names why an attempt ended as it did.
type CauseKind string

// The causes.
const (
	CauseOK            CauseKind = "ok"
	CauseExit          CauseKind = "exit"
	CauseSignal        CauseKind = "signal"
	CauseOOM           CauseKind = "oom"
	CauseOOMPartial    CauseKind = "oom_partial" // exit 0, but a process of it was killed
	CauseTimeout       CauseKind = "timeout"     // its own limit
	CauseWalltime      CauseKind = "walltime"    // the allocation's
	CauseNodeFail      CauseKind = "node_fail"
	CausePreempted     CauseKind = "preempted"
	CauseCanceledUser  CauseKind = "canceled_user"
	CauseCanceledAdmin CauseKind = "canceled_admin"
	CauseLaunch        CauseKind = "launch"
	CauseOutputMissing CauseKind = "output_missing"
	CauseDiskFull      CauseKind = "disk_full"
	CauseLost          CauseKind = "lost"
	// CauseSubWorkflow: the jobs that a sub-workflow job stands for were not
	// successful.
	CauseSubWorkflow CauseKind = "sub_workflow"
	// CauseNeverStarted is not an attempt: claimed, but no process was spawned.
	CauseNeverStarted CauseKind = "never_started"
)

// CauseKinds lists all causes.
func CauseKinds() []CauseKind {
	return []CauseKind{
		CauseOK, CauseExit, CauseSignal, CauseOOM, CauseOOMPartial, CauseTimeout, CauseWalltime, CauseNodeFail,
		CausePreempted, CauseCanceledUser, CauseCanceledAdmin, CauseLaunch, CauseOutputMissing, CauseDiskFull,
		CauseLost, CauseSubWorkflow, CauseNeverStarted,
	}
}

// Confidence says how sure a cause is.
type Confidence string

// The degrees of confidence.
const (
	Certain Confidence = "certain"
	Likely  Confidence = "likely"
	Guess   Confidence = "guess"
)

// Cause is why an attempt ended, with the status and return code that follow.
type Cause struct {
	Kind       CauseKind
	Confidence Confidence
	// Status is completed, failed, canceled or terminated; ready for
	// CauseNeverStarted.
	Status     JobStatus
	ReturnCode int64
	Text       string // the evidence in one line that a person can read
	// OfCommand says of a launch failure that the command is at fault.
	OfCommand bool
	// ByDrain says of walltime that it was our own drain that cut the attempt.
	ByDrain bool
	// ByUs says that we ended the attempt for a reason that is not its own: a fence, or
	// our own scancel of its allocation. For a drain ByDrain says it.
	ByUs bool
	// HoldAsked says that a torc client reported the failure as pending_failed.
	HoldAsked bool
	// MayStillRun says that nobody confirmed that its processes are gone: they
	// were on a node that cannot be reached any more.
	MayStillRun bool
}

// Summary is the text with the cause's name in front, where the text does not
// say it by itself, and with the confidence behind, where it is not certain.
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

// ReturnCodes are the return codes that a workflow's execution_config sets;
// 0 stands for the default.
type ReturnCodes struct {
	Timeout int64 // default 152
	OOM     int64 // default 137
}

// The return codes of attempts that have none of their own.
const (
	DefaultTimeoutReturnCode  int64 = 152
	DefaultOOMReturnCode      int64 = 137
	ReturnCodeOutputMissing   int64 = 1
	ReturnCodeCannotExecute   int64 = 126
	ReturnCodeCommandNotFound int64 = 127
	ReturnCodeUnknown         int64 = -1   // ended, nobody knows how
	ReturnCodeLost            int64 = -128 // nobody saw it end
)

// TimeoutCode returns the return code of attempts that were ended for their time.
func (c ReturnCodes) TimeoutCode() int64 { return orDefault(c.Timeout, DefaultTimeoutReturnCode) }

// OOMCode returns the return code of attempts that were killed for lack of memory.
func (c ReturnCodes) OOMCode() int64 { return orDefault(c.OOM, DefaultOOMReturnCode) }

func orDefault(v, def int64) int64 {
	if v == 0 {
		return def
	}
	return v
}

// ReturnCodes returns the codes that the configuration sets; c may be nil.
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

// Ours reports whether we ended the attempt for a reason that is not its own. What a
// policy says about failures in general is not about such an end.
func (c Cause) Ours() bool { return c.ByDrain || c.ByUs }

// Taken reports whether the attempt was taken from the job: preempted, or cut by
// our own drain at the end of the allocation's time.
func (c Cause) Taken() bool {
	return c.Kind == CausePreempted || c.Kind == CauseWalltime && c.ByDrain
}
