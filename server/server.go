// Package server is the daemon: its start and stop, its loops, and the HTTP API, whose
// parts are packages of their own: requests (rest), callers (access) and operations
// (handler, torc).
package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/server/unread"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/store"
)

// Server answers the HTTP API. Store is needed; everything else has a default.
type Server struct {
	Store   *store.Store
	Hub     *hub.Hub             // must see every commit; see store.Options.OnCommit
	Metrics *Metrics             // nil: with a registry of its own
	Auth    access.Authenticator // nil: everybody may do everything, as "anonymous"
	Origins *access.Origins      // nil: those of this machine
	Log     *slog.Logger         // nil: slog.Default
	Now     func() time.Time     // nil: time.Now

	// Cluster requests allocations from Slurm; nil where there is no Slurm.
	Cluster service.Submitter
	// Scheduler requests those of submitted workflows; nil where there is no Slurm.
	Scheduler *scheduler.Scheduler
	// Poller polls Slurm; nil where there is no Slurm.
	Poller handler.Poller

	// Slurm is the cluster for the verbs; nil where there is no Slurm.
	Slurm service.Slurm

	// PollAllocations has Slurm polled soon about allocations; nil where there is no
	// Slurm.
	PollAllocations func()

	// Lease is how long a runner's leases last after its latest turn; 0 means
	// DefaultLease.
	Lease time.Duration

	// Version and GitHash are what GET /version returns.
	Version string
	GitHash string
	// MaxBulkBody is the limit for bodies of bulk requests in bytes; 0 means
	// 200 MiB.
	MaxBulkBody int64
	// InitializeBarrier has the first N asynchronous initializations wait for each other
	// (TORC_TEST_INITIALIZE_JOBS_BARRIER).
	InitializeBarrier int

	setUp       sync.Once
	unread      *unread.Budget
	site        *knownSite    // nil where there is no Slurm
	logins      *loginRunners // nil where the daemon starts no runners
	leases      *leases
	startNeeded chan struct{} // tells the watchdog that a runner's connection broke
	barrier     *handler.Barrier

	idle         *idle // nil: the server never stops because it is idle
	failedLogins access.FailedLogins
	// reloadPasswords reads the authentication file again and returns how many users it
	// has; nil without such a file.
	reloadPasswords func() (users int, err error)
	asksAgents      bool          // about held jobs
	stall           time.Duration // how long a body may be silent

	tasks sync.WaitGroup // background tasks; Close waits for them

	stop     sync.Once
	stopping chan struct{} // closed by Stop: event streams end
}

func (s *Server) defaults() {
	s.setUp.Do(func() {
		if s.Hub == nil {
			s.Hub = hub.New()
		}
		if s.Metrics == nil {
			s.Metrics = NewMetrics(s.Store)
		}
		if s.Log == nil {
			s.Log = slog.Default()
		}
		if s.Now == nil {
			s.Now = time.Now
		}
		if s.Version == "" {
			s.Version = "1.0.0"
		}
		if s.MaxBulkBody == 0 {
			s.MaxBulkBody = 200 << 20
		}
		if s.Origins == nil {
			s.Origins = access.NewOrigins()
		}
		if s.unread == nil {
			s.unread = unread.NewBudget(rest.AnswerBounds)
		}
		s.stall = cmp.Or(s.stall, stallTime)
		s.barrier = handler.NewBarrier(s.InitializeBarrier)
		s.stopping = make(chan struct{})
		s.leases = newLeases(cmp.Or(s.Lease, DefaultLease))
		s.startNeeded = make(chan struct{}, 1)
	})
}

// Handler returns the handler of the whole API, with the pages beside it.
func (s *Server) Handler() http.Handler {
	s.defaults()
	return s.middleware(s.mux())
}

// mux registers the routes and the pages beside the API.
func (s *Server) mux() *http.ServeMux {
	rt := &rest.Router{Log: s.Log, MaxBulkBody: s.MaxBulkBody, Answers: s.unread, CheckCaller: s.within}
	return rt.Mux(append(allRoutes(s.deps()), s.pages()...))
}

// connectionBroke has the watchdog check a runner at once.
func (s *Server) connectionBroke(runner int64) {
	s.leases.suspect(runner)
	select {
	case s.startNeeded <- struct{}{}:
	default: // it has been woken already
	}
}

// deps returns what the handlers need, as it is now.
func (s *Server) deps() *handler.Deps {
	s.defaults()
	d := &handler.Deps{
		Store: s.Store, Hub: s.Hub, Metrics: s.Metrics, Log: s.Log, Now: s.Now,
		Cluster: s.Cluster, Scheduler: s.Scheduler, Poller: s.Poller, Slurm: s.Slurm, PollAllocations: s.PollAllocations, UseSite: s.site.use,
		Leases: s.leases, ConnectionBroke: s.connectionBroke, LoginPart: s.loginPart, LoginFacts: s.loginFacts,
		ReloadPasswords: s.reloadPasswords, AsksAgents: s.asksAgents, Version: s.Version, GitHash: s.GitHash,
		Background: s.tasks.Go, Barrier: s.barrier, Stopping: s.stopping,
	}
	if s.site != nil {
		d.Site = s.site.Site
	}
	return d
}

// whyQueued returns why a ready job waits.
func (s *Server) whyQueued(ctx context.Context, job int64) (string, error) {
	return s.deps().WhyQueued(ctx, job)
}

// Stop ends the event streams, which would keep an http.Server from shutting down.
func (s *Server) Stop() {
	s.defaults()
	s.stop.Do(func() { close(s.stopping) })
}

// Close stops and waits for the background tasks that requests have started.
func (s *Server) Close() {
	s.Stop()
	s.tasks.Wait()
}
