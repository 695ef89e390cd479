package workflow

// Operation is something that changes a job's status. Each operation allows
// some transitions and no others; docs/states.md shows them.
type Operation string

// The operations.
const (
	OpInitialize Operation = "initialize" // initialize_jobs: from the graph
	OpRelease    Operation = "release"    // the last dependency is complete
	OpSkip       Operation = "skip"       // a dependency was not successful
	OpReopen     Operation = "reopen"     // a dependency that was complete runs again
	OpClaim      Operation = "claim"      // a runner takes it
	OpGiveBack   Operation = "give_back"  // a runner took it and did not start it
	OpStart      Operation = "start"      // a process was spawned
	OpNotStart   Operation = "not_start"  // nothing was spawned after all
	OpSupersede  Operation = "supersede"  // an attempt that was taken for lost is reported: its loss is taken back
	OpFinish     Operation = "finish"     // an attempt ended and its status stands
	OpRetry      Operation = "retry"      // an attempt ended, another one follows
	OpRecover    Operation = "recover"    // an attempt ended, the recovery script runs
	OpRecovered  Operation = "recovered"  // the recovery script ended
	OpHold       Operation = "hold"       // an attempt ended, somebody must classify it
	OpClassify   Operation = "classify"   // somebody did, or the deadline passed
	OpExpire     Operation = "expire"     // its time is over, while it waits
	OpComplete   Operation = "complete"   // complete_job of a torc client
	OpCancel     Operation = "cancel"     // the workflow is canceled
	OpAbort      Operation = "abort"      // the run is ended early: a deadline, a timeout, too many failures
	OpStage      Operation = "stage"      // the stage of a sub-workflow job, or of a job, began, ended or waits again
	OpDisable    Operation = "disable"    // the user does not want it
	OpReset      Operation = "reset"      // reset_job_status
	OpManage     Operation = "manage"     // manage_status_change: an operator's word
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

// transitionRule says that op leads from each status of from to each status of
// to.
type transitionRule struct {
	op       Operation
	from, to statusSet
}

// transitionRules is the state machine. A transition to the same status is not
// one, whatever the rules say.
var transitionRules = []transitionRule{
	// A live job is left alone. A terminated one was cut off and runs again; a
	// held one is given up for a fresh start. What is behind a job that has to
	// run (again) waits for it, and what is behind a failure is skipped. Of the
	// disabled jobs only those that were not needed change, also below.
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
	// A report may arrive before the turn that says that the job was started.
	{OpFinish, setOf(Pending, Running), setOf(Completed, Failed, Canceled, Terminated)},
	{OpRetry, setOf(Pending, Running, Failed, Terminated), setOf(Ready)},
	{OpRecover, setOf(Running), setOf(Pending)},
	{OpRecovered, setOf(Pending), setOf(Ready, Failed, Terminated, PendingFailed)},
	{OpHold, setOf(Pending, Running), setOf(PendingFailed)},
	{OpClassify, setOf(PendingFailed), setOf(Ready, Failed)},
	{OpExpire, setOf(Ready), setOf(Terminated)},
	// torc's clients complete jobs that they never claimed.
	{OpComplete, setOf(Uninitialized, Blocked, Ready, Pending, Running), setOf(Completed, Failed, Canceled, Terminated, PendingFailed)},
	{OpCancel, setOf(Pending, Running), setOf(Canceled)},
	{OpAbort, setOf(Uninitialized, Blocked, Ready, Pending, Running, PendingFailed), setOf(Canceled)},
	// A sub-workflow job runs while its stage does, without a claim, and runs again
	// when a job of it is repeated. Jobs of a stage wait for its start.
	{OpStage, setOf(Ready, Completed, Failed, Canceled, Disabled), setOf(Running)},
	{OpStage, setOf(Running), setOf(Completed, Failed)},
	{OpStage, setOf(Ready, Pending, Running, Completed, Failed, Canceled, Terminated, Disabled), setOf(Blocked)},
	{OpStage, setOf(Uninitialized, Blocked, Ready, Pending, Running, PendingFailed), setOf(Canceled, Disabled)},
	{OpStage, setOf(Blocked), setOf(Ready)},
	// The undo of an earlier run that this one does not need rests again.
	{OpStage, setOf(Completed, Failed, Canceled, Terminated), setOf(Disabled)},
	{OpDisable, setOf(Uninitialized), setOf(Disabled)},
	{OpReset, everyStatus, setOf(Uninitialized)},
	{OpManage, everyStatus, setOf(Uninitialized, Blocked, Ready, Pending, Running, PendingFailed)},
}

// CanTransition reports whether op may change a job's status so.
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

// Operations lists all operations in the order of a job's life.
func Operations() []Operation {
	var all []Operation
	for i, r := range transitionRules {
		if i == 0 || transitionRules[i-1].op != r.op {
			all = append(all, r.op)
		}
	}
	return all
}

// Transitions lists every allowed change, in the order of Operations.
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
