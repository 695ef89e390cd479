package workflow

// Operation is something that changes the status of a job. Each operation allows certain
// transitions; docs/states.md shows them.
type Operation string

// The operations.
const (
	OpInitialize Operation = "initialize" // initialize_jobs: from the graph
	OpRelease    Operation = "release"    // the last dependency is complete
	OpSkip       Operation = "skip"       // a dependency was not successful
	OpReopen     Operation = "reopen"     // a dependency that was complete runs again
	OpClaim      Operation = "claim"      // a runner takes it
	OpGiveBack   Operation = "give_back"  // a runner returns it without starting it
	OpStart      Operation = "start"      // a process was spawned
	OpNotStart   Operation = "not_start"  // no process was spawned after all
	OpSupersede  Operation = "supersede"  // an attempt considered lost is reported: the report counts
	OpFinish     Operation = "finish"     // an attempt ended, and the job gets its status
	OpRetry      Operation = "retry"      // an attempt ended, another one follows
	OpRecover    Operation = "recover"    // an attempt ended, the recovery script runs
	OpRecovered  Operation = "recovered"  // the recovery script ended
	OpHold       Operation = "hold"       // an attempt ended, a user has to classify it
	OpClassify   Operation = "classify"   // a user classified it, or the deadline passed
	OpExpire     Operation = "expire"     // its timeout expired while it waited
	OpComplete   Operation = "complete"   // complete_job of a torc client
	OpCancel     Operation = "cancel"     // the workflow is canceled, or a user cancels jobs
	OpAbort      Operation = "abort"      // the run is aborted: a deadline, a timeout, too many failures
	OpStage      Operation = "stage"      // the stage of a sub-workflow job, or of a job, started, ended or waits again
	OpDisable    Operation = "disable"    // the user does not need it
	OpReset      Operation = "reset"      // reset_job_status
	OpManage     Operation = "manage"     // manage_status_change: an operator sets the status
)

// Transition is one allowed change of status.
type Transition struct {
	From, To JobStatus
	Op       Operation
}

// statusSet is a set of statuses as bits.
type statusSet uint16

func setOf(all ...JobStatus) statusSet {
	var s statusSet
	for _, x := range all {
		s |= 1 << x
	}
	return s
}

func (s statusSet) has(x JobStatus) bool { return x.Valid() && s&(1<<x) != 0 }

const everyStatus statusSet = 1<<(PendingFailed+1) - 1

// transitionRule says that op leads from each status in from to each status in to.
type transitionRule struct {
	op       Operation
	from, to statusSet
}

// transitionRules is the state machine. A transition to the same status is never allowed.
var transitionRules = []transitionRule{
	// Live jobs do not change. Terminated jobs run again, because they were interrupted;
	// held ones do too. A dependent of a job that has to run (again) waits for it, and a
	// dependent of a failed job is skipped. Of the disabled jobs only those that were not
	// needed change, here and below.
	{OpInitialize, setOf(Uninitialized, Blocked, Terminated, PendingFailed), setOf(Blocked, Ready, Canceled, Disabled)},
	{OpInitialize, setOf(Ready, Completed, Failed, Canceled, Disabled), setOf(Blocked)},
	{OpRelease, setOf(Blocked), setOf(Ready)},
	{OpSkip, setOf(Blocked), setOf(Canceled, Disabled)},
	{OpReopen, setOf(Ready, Canceled, Disabled), setOf(Blocked)},
	{OpClaim, setOf(Ready), setOf(Pending)},
	{OpGiveBack, setOf(Pending), setOf(Ready)},
	{OpStart, setOf(Pending), setOf(Running)},
	{OpNotStart, setOf(Running), setOf(Pending)},
	{OpSupersede, setOf(Ready), setOf(Running)},
	// A report may arrive before the turn that reports the start of the job.
	{OpFinish, setOf(Pending, Running), setOf(Completed, Failed, Canceled, Terminated)},
	{OpRetry, setOf(Pending, Running, Failed, Terminated), setOf(Ready)},
	{OpRecover, setOf(Running), setOf(Pending)},
	{OpRecovered, setOf(Pending), setOf(Ready, Failed, Terminated, PendingFailed)},
	{OpHold, setOf(Pending, Running), setOf(PendingFailed)},
	{OpClassify, setOf(PendingFailed), setOf(Ready, Failed)},
	{OpExpire, setOf(Ready), setOf(Terminated)},
	// torc's clients complete jobs that they never claimed.
	{OpComplete, setOf(Uninitialized, Blocked, Ready, Pending, Running), setOf(Completed, Failed, Canceled, Terminated, PendingFailed)},
	{OpCancel, setOf(Blocked, Ready, Pending, Running, PendingFailed), setOf(Canceled)},
	{OpAbort, setOf(Uninitialized, Blocked, Ready, Pending, Running, PendingFailed), setOf(Canceled)},
	// A sub-workflow job runs while its stage runs, without a claim, and runs again when a
	// job of the stage is repeated. Jobs of a stage wait for its start.
	{OpStage, setOf(Ready, Completed, Failed, Canceled, Disabled), setOf(Running)},
	{OpStage, setOf(Running), setOf(Completed, Failed)},
	{OpStage, setOf(Ready, Pending, Running, Completed, Failed, Canceled, Terminated, Disabled), setOf(Blocked)},
	{OpStage, setOf(Uninitialized, Blocked, Ready, Pending, Running, PendingFailed), setOf(Canceled, Disabled)},
	{OpStage, setOf(Blocked), setOf(Ready)},
	// An undo job of an earlier run that this run does not need is disabled again.
	{OpStage, setOf(Completed, Failed, Canceled, Terminated), setOf(Disabled)},
	{OpDisable, setOf(Uninitialized), setOf(Disabled)},
	{OpReset, everyStatus, setOf(Uninitialized)},
	{OpManage, everyStatus, setOf(Uninitialized, Blocked, Ready, Pending, Running, PendingFailed)},
}

// CanTransition reports whether op may change a job's status from one to another.
func CanTransition(from, to JobStatus, op Operation) bool {
	if from == to {
		return false
	}
	for _, r := range transitionRules {
		if r.op == op && r.from.has(from) && r.to.has(to) {
			return true
		}
	}
	return false
}

// Operations returns all operations in the order in which a job goes through them.
func Operations() []Operation {
	var all []Operation
	for i, r := range transitionRules {
		if i == 0 || transitionRules[i-1].op != r.op {
			all = append(all, r.op)
		}
	}
	return all
}

// Transitions returns every allowed transition, in the order of Operations.
func Transitions() []Transition {
	var all []Transition
	for _, op := range Operations() {
		for _, from := range JobStatuses() {
			for _, to := range JobStatuses() {
				if CanTransition(from, to, op) {
					all = append(all, Transition{from, to, op})
				}
			}
		}
	}
	return all
}
