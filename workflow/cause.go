package workflow

// CauseKind names why an attempt ended as it did.
type CauseKind string

// The causes.
const (
	CauseOK            CauseKind = "ok"
	CauseExit          CauseKind = "exit"
	CauseSignal        CauseKind = "signal"
	CauseOOM           CauseKind = "oom"
	CauseOOMPartial    CauseKind = "oom_partial"
	CauseTimeout       CauseKind = "timeout"
	CauseWalltime      CauseKind = "walltime"
	CauseNodeFail      CauseKind = "node_fail"
	CausePreempted     CauseKind = "preempted"
	CauseCanceledUser  CauseKind = "canceled_user"
	CauseCanceledAdmin CauseKind = "canceled_admin"
	CauseLaunch        CauseKind = "launch"
	CauseOutputMissing CauseKind = "output_missing"
	CauseDiskFull      CauseKind = "disk_full"
	CauseLost          CauseKind = "lost"
)

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
	Status     JobStatus // completed, failed, canceled or terminated
	ReturnCode int64
	Text       string // the evidence in one line that a person can read
	// OfCommand says of a launch failure that the command is at fault.
	OfCommand bool
}

// ReturnCodes are the return codes that a workflow's execution_config sets.
type ReturnCodes struct {
	Timeout int64 // default 152
	OOM     int64 // default 137
}
