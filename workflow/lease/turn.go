package lease

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// TurnRequest is what a runner says in one turn. Sending the same turn again
// has no second effect and returns the same grants.
type TurnRequest struct {
	Turn  int64 `json:"turn"` // grows by one
	RunID int64 `json:"run_id"`
	// Held lists every lease that the runner has, running or about to run;
	// exactly these are renewed. Grants of an earlier answer that are not in
	// it are granted again.
	Held    []Held   `json:"held,omitempty"`
	Reports []Report `json:"reports,omitempty"`
	// Started lists attempts that an earlier runner of this host had begun to
	// start when it was killed, and that it has not reported.
	Started []Held `json:"started,omitempty"`
	// GiveBack lists grants that the runner will not start: their jobs are
	// ready again and it was no attempt.
	GiveBack []LeaseRef `json:"give_back,omitempty"`
	// NotStarted lists leases that were said to be started, with that time, and
	// are not: Slurm refused the step. The runner keeps them and tries again.
	NotStarted []Held `json:"not_started,omitempty"`
	// Recovered lists recovery scripts that have ended.
	Recovered []Recovered `json:"recovered,omitempty"`
	Free      Free        `json:"free"`
	// Paused says that the runner starts nothing for now; nil: it does.
	Paused *workflow.LaunchPause `json:"paused,omitempty"`
	// Dying is how many processes the runner is ending whose leases were voided.
	Dying int64 `json:"dying,omitempty"`
	// WaitSeconds is how long the daemon may hold the answer when it has
	// nothing to say; 0 for an answer at once, at most 10.
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
	// PatternsHash is the hash of the failure patterns that the runner searches for.
	PatternsHash string `json:"signs_hash,omitempty"`
}

// Free is what a runner has to offer. Per-node numbers, one entry of Nodes for
// each node that it can place jobs on.
type Free struct {
	Nodes []placement.FreeNode `json:"nodes,omitempty"`
	// Slots is how many more jobs it takes at most in this turn.
	Slots int64 `json:"slots"`
	// TimeLeftSeconds is what the allocation has left less the grace; nil
	// means no end.
	TimeLeftSeconds *int64 `json:"time_left_seconds,omitempty"`
}

// TurnResponse is what the daemon says in one turn.
type TurnResponse struct {
	Turn  int64 `json:"turn"`
	RunID int64 `json:"run_id"`
	// Results answers Reports and Recovered, in their order.
	Results []ReportResult `json:"results,omitempty"`
	Grants  []Grant        `json:"grants,omitempty"`
	// Voided lists held leases that are no longer the runner's: kill their
	// processes and report nothing more (a late report is kept, without effect).
	// What a canceled workflow's runner holds is not listed: it is ended by
	// OrderCancel and reported.
	Voided []LeaseRef `json:"voided,omitempty"`
	// Cancel lists held leases whose jobs are to be ended (grace, then kill) and
	// reported, or given back if they were not started.
	Cancel []LeaseRef `json:"cancel,omitempty"`
	Orders []Order    `json:"orders,omitempty"`
	// EndTime is the allocation's end where the daemon knows it better.
	EndTime string `json:"end_time,omitempty"` // RFC 3339
	// Complete says that the workflow has ended; Canceled that it was canceled.
	Complete bool `json:"complete,omitempty"`
	Canceled bool `json:"canceled,omitempty"`
	// OpenJobs counts the jobs that are not complete; ClaimableLater says that
	// some of them may still become work for this runner without a decision on
	// those that are held, HeldJobs.
	OpenJobs       int64 `json:"open_jobs"`
	HeldJobs       int64 `json:"held_jobs,omitempty"`
	ClaimableLater bool  `json:"claimable_later"`
	// ClaimsHeld says why nothing of the workflow is granted to anybody; empty if
	// it is.
	ClaimsHeld string `json:"claims_held,omitempty"`
	// WaitsForHost says who has the rest of a host that the runner shares, if there are
	// jobs that it could take but for that.
	WaitsForHost string `json:"waits_for_host,omitempty"`
	// Patterns are the failure patterns to search for from now on; nil if PatternsHash is theirs.
	Patterns *failure.Patterns `json:"signs,omitempty"`
}

// Has reports whether an order is among the answer's.
func (t *TurnResponse) Has(o Order) bool { return slices.Contains(t.Orders, o) }

// Order is something that a runner must do.
type Order string

// The orders.
const (
	OrderDrain  Order = "drain"  // take nothing new, let jobs end, then leave
	OrderCancel Order = "cancel" // end all jobs (grace, then kill), report, leave
	OrderStop   Order = "stop"   // as cancel, the jobs are given to others
)
