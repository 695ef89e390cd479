package lease

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// TurnRequest is what a runner reports in one turn. Sending the same turn again has no
// further effect and returns the same grants.
type TurnRequest struct {
	Turn  int64 `json:"turn"` // grows by one with each turn
	RunID int64 `json:"run_id"`
	// Held lists every lease that the runner holds, running or about to run; exactly these
	// are renewed. Earlier grants that are not in the list are granted again.
	Held    []Held   `json:"held,omitempty"`
	Reports []Report `json:"reports,omitempty"`
	// Started lists attempts that an earlier runner on this host was starting when it was
	// killed, and that it has not reported.
	Started []Held `json:"started,omitempty"`
	// GiveBack lists grants that the runner will not start: their jobs become ready again,
	// and no attempt is counted.
	GiveBack []LeaseRef `json:"give_back,omitempty"`
	// NotStarted lists leases that the runner reported as started, with that time, but that
	// did not start because Slurm rejected the step. The runner keeps them and tries again.
	NotStarted []Held `json:"not_started,omitempty"`
	// Recovered lists recovery scripts that have ended.
	Recovered []Recovered `json:"recovered,omitempty"`
	Free      Free        `json:"free"`
	// Paused says why the runner starts no jobs for now; nil: it does.
	Paused *workflow.LaunchPause `json:"paused,omitempty"`
	// Dying is the number of processes with revoked leases that the runner is ending.
	Dying int64 `json:"dying,omitempty"`
	// WaitSeconds is how long the daemon may delay an answer without content; 0 means an
	// immediate answer; at most 10.
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
	// PatternsHash is the hash of the failure patterns that the runner searches for.
	PatternsHash string `json:"signs_hash,omitempty"`
}

// Free is what a runner offers: the free resources of each node that it can place jobs on.
type Free struct {
	Nodes []placement.FreeNode `json:"nodes,omitempty"`
	// Slots is the maximum number of jobs that it takes in this turn.
	Slots int64 `json:"slots"`
	// TimeLeftSeconds is the time left in the allocation, without the grace time; nil means
	// no limit.
	TimeLeftSeconds *int64 `json:"time_left_seconds,omitempty"`
}

// TurnResponse is the daemon's answer to one turn.
type TurnResponse struct {
	Turn  int64 `json:"turn"`
	RunID int64 `json:"run_id"`
	// Results answers Reports and Recovered, in their order.
	Results []ReportResult `json:"results,omitempty"`
	Grants  []Grant        `json:"grants,omitempty"`
	// Voided lists held leases that are revoked: the runner kills their processes and
	// reports nothing more (a late report is stored, without effect). Leases of a canceled
	// workflow are not listed: OrderCancel ends their jobs, which are reported.
	Voided []LeaseRef `json:"voided,omitempty"`
	// Cancel lists held leases whose jobs the runner must end (grace time, then kill) and
	// report, or give back if they were not started.
	Cancel []LeaseRef `json:"cancel,omitempty"`
	Orders []Order    `json:"orders,omitempty"`
	// EndTime is the end of the allocation, if the daemon knows it better than the runner.
	EndTime string `json:"end_time,omitempty"` // RFC 3339
	// Complete says that the workflow has ended; Canceled that it was canceled.
	Complete bool `json:"complete,omitempty"`
	Canceled bool `json:"canceled,omitempty"`
	// OpenJobs is the number of jobs that are not complete, HeldJobs of those that are held.
	// ClaimableLater says that this runner may get more jobs even if no held job is
	// classified.
	OpenJobs       int64 `json:"open_jobs"`
	HeldJobs       int64 `json:"held_jobs,omitempty"`
	ClaimableLater bool  `json:"claimable_later"`
	// ClaimsHeld is why claims of the workflow are held; empty if they are not.
	ClaimsHeld string `json:"claims_held,omitempty"`
	// WaitsForHost says which workflows use the runner's host, if the runner could otherwise
	// take more jobs.
	WaitsForHost string `json:"waits_for_host,omitempty"`
	// Patterns are the failure patterns to search for from now on; nil if the PatternsHash
	// of the request is current.
	Patterns *failure.Patterns `json:"signs,omitempty"`
}

// Has reports whether the answer contains an order.
func (t *TurnResponse) Has(o Order) bool { return slices.Contains(t.Orders, o) }

// Order is something that a runner must do.
type Order string

// The orders.
const (
	OrderDrain  Order = "drain"  // take no new jobs, let jobs end, then deregister
	OrderCancel Order = "cancel" // end all jobs (grace time, then kill), report, deregister
	OrderStop   Order = "stop"   // like cancel, but the jobs go to other runners
)
