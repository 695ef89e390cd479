// Package handler implements the operations of the API, one file a noun: it decodes,
// calls the store or a verb of package service, and encodes.
package handler

import (
	"context"
	"log/slog"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Deps is what handlers need: the store, the verbs above it, and hooks into the
// loops of the daemon. OpenAPI needs none of it.
type Deps struct {
	Store   *store.Store
	Hub     *hub.Hub
	Metrics Counters
	Log     *slog.Logger
	Now     func() time.Time

	// Cluster requests allocations from Slurm, Scheduler those of submitted
	// workflows, and Poller polls Slurm; nil where there is no Slurm.
	Cluster   service.Submitter
	Scheduler *scheduler.Scheduler
	Poller    Poller
	// Slurm is the cluster as the verbs need it; nil where there is no Slurm.
	Slurm service.Slurm
	// Site returns what the cluster offers; nil where there is no Slurm.
	Site service.SiteFunc
	// PollAllocations has the daemon poll Slurm soon; nil where there is no Slurm.
	PollAllocations func()
	// UseSite records that a request is about to use the facts about the cluster, so that
	// the daemon keeps them up to date.
	UseSite func()

	// Leases knows which runners are alive; ConnectionBroke has one checked at once.
	Leases          Leases
	ConnectionBroke func(runner int64)
	// LoginPart returns a runner's part in the jobs that run only on this host, and
	// LoginFacts which runners run those of a workflow.
	LoginPart  func(*lease.RegisterRequest) (placement.LoginPart, error)
	LoginFacts func(workflowID int64) explain.LoginFacts

	// ReloadPasswords reads the authentication file again and returns how many users
	// it has; nil without such a file.
	ReloadPasswords func() (users int, err error)
	// AsksAgents says that the daemon asks agents about held jobs.
	AsksAgents bool
	// Version and GitHash are what GET /version returns.
	Version string
	GitHash string

	// Background does work that outlives the request; the daemon waits for it when
	// it stops.
	Background func(work func())
	// Barrier makes the first asynchronous initializations wait for each other.
	Barrier *Barrier
	// Stopping is closed when the daemon stops: event streams and turns end.
	Stopping <-chan struct{}
}

// Counters counts what the handlers do.
type Counters interface {
	// Claimed counts jobs that were granted to a torc client.
	Claimed(way string, jobs int)
	// AttemptEnded counts an attempt by the cause of its end.
	AttemptEnded(cause string)
	// Turn counts what the answer to a turn contains.
	Turn(t *lease.TurnResponse)
	// StreamOpened counts a client that reads an event stream, until closed is called.
	StreamOpened() (closed func())
}

// Leases knows when each runner sent its latest turn.
type Leases interface {
	// Period is how long leases last after the latest turn.
	Period() time.Duration
	// Renew records that a runner is alive. The channel is closed when the runner sends a
	// newer turn than this one.
	Renew(runner, turn int64, now time.Time) (newer <-chan struct{})
	// Pause records whether a runner starts jobs, and reports whether it has just stopped
	// starting them.
	Pause(runner, turn int64, why *workflow.LaunchPause) (begun bool)
	// Ordered reports whether a runner must stop.
	Ordered(runner int64) bool
	// Forget drops a runner that has deregistered.
	Forget(runner int64)
	// States returns the states of the runners that have a problem.
	States(now time.Time) map[int64]placement.RunnerState
}

// Poller polls Slurm for the state of allocations.
type Poller interface {
	// Poll polls Slurm and returns when the result is stored.
	Poll(ctx context.Context) error
	// Seen returns the queue as of the latest poll.
	Seen() allocation.QueueSnapshot
}

// verbs are the use cases that all surfaces share.
func (d *Deps) verbs() *service.Service {
	return &service.Service{
		Store: d.Store, Now: d.Now, Slurm: d.Slurm, Site: d.Site, Cluster: d.Cluster, Scheduler: d.Scheduler, UseSite: d.UseSite,
		Told: func(ctx context.Context, err error) string { return rest.ErrorText(ctx, d.Log, err) },
	}
}
