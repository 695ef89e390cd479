// Package server is the daemon: the HTTP API over the store, the event stream,
// credentials and metrics.
package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/unread"
	"github.com/torc-slurm/torc-slurm/store"
)

// Server answers the HTTP API. Store is needed; everything else has a default.
type Server struct {
	Store   *store.Store
	Hub     *Hub             // must be told of every commit; see store.Options.OnCommit
	Metrics *Metrics         // nil: a registry of its own
	Auth    Authenticator    // nil: everybody may do everything, as "anonymous"
	Origins *access.Origins  // nil: those of this machine
	Log     *slog.Logger     // nil: slog.Default
	Now     func() time.Time // nil: time.Now

	// Cluster asks Slurm for allocations; nil where there is no Slurm.
	Cluster Submitter
	// Scheduler asks for those of submitted workflows; nil where there is no
	// Slurm.
	Scheduler *scheduler.Scheduler
	// Lookout looks at Slurm's queue; nil where there is no Slurm.
	Lookout Lookout

	// PollAllocations has Slurm asked soon what became of allocations; nil where
	// there is no Slurm.
	PollAllocations func()

	// Lease is how long a runner's leases last after its latest turn; 0 means
	// DefaultLease.
	Lease time.Duration

	// Version and GitHash are what GET /version says.
	Version string
	GitHash string
	// MaxBulkBody is the limit for bodies of bulk requests in bytes; 0 means
	// 200 MiB.
	MaxBulkBody int64
	// InitializeBarrier makes the first N asynchronous initialisations wait for
	// each other (TORC_TEST_INITIALIZE_JOBS_BARRIER).
	InitializeBarrier int

	setUp   sync.Once
	unread  *unread.Budget
	site    *knownSite    // nil where there is no Slurm
	logins  *loginRunners // nil where the daemon starts no runners
	leases  *leases
	look    chan struct{} // tells the watchdog that a runner's connection broke
	barrier *barrier

	idle         *idle // nil: nobody asks whether requests come
	failedLogins access.FailedLogins
	// reloadPasswords reads the authentication file again and returns how many users it
	// has; nil without such a file.
	reloadPasswords func() (users int, err error)
	stall           time.Duration // how long a body may be silent

	tasks sync.WaitGroup // background tasks; Close waits for them

	stop     sync.Once
	stopping chan struct{} // closed by Stop: event streams end
}

func (s *Server) defaults() {
	s.setUp.Do(func() {
		if s.Hub == nil {
			s.Hub = NewHub()
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
			s.unread = unread.NewBudget(answerBounds)
		}
		s.stall = cmp.Or(s.stall, stallTime)
		s.barrier = newBarrier(s.InitializeBarrier)
		s.stopping = make(chan struct{})
		s.leases = newLeases(cmp.Or(s.Lease, DefaultLease))
		s.look = make(chan struct{}, 1)
	})
}

// Handler returns the handler of the whole API, with the pages beside it.
func (s *Server) Handler() http.Handler {
	s.defaults()
	return s.middleware(s.mux())
}

// Stop ends the event streams, which would keep an http.Server from shutting
// down.
func (s *Server) Stop() {
	s.defaults()
	s.stop.Do(func() { close(s.stopping) })
}

// Close stops and waits for the background tasks that requests have started.
func (s *Server) Close() {
	s.Stop()
	s.tasks.Wait()
}
