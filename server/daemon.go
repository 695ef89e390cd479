package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/guard"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/connlimit"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/server/socket"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// DaemonOptions configure a daemon. Database and EndpointPath are required, except for a
// database in memory.
type DaemonOptions struct {
	Database     string // path of the job database
	EndpointPath string // file for how to reach it; empty for none
	// InMemory keeps the database in memory; it starts with the contents of the file
	// Database.
	InMemory  bool
	Snapshots Snapshots
	// Host and Port are where it listens on TCP; by default 127.0.0.1 and a free port.
	Host string
	Port int
	// Sockets are the folders for its Unix socket.
	Sockets socket.Folders
	// Token is required of callers whom the kernel does not identify as the user who runs
	// the daemon. If it is empty, it is that of the previous daemon if that ended in an
	// orderly way, or else a new one.
	Token string
	// Shared admits other users of this host, by their credentials. Without it only the
	// user who runs the daemon gets an answer.
	Shared bool
	// Passwords are those of the users of a shared daemon; nil if there is only the
	// token. PasswordsKept is how long a correct password is remembered.
	Passwords     *access.Passwords
	PasswordsKept time.Duration
	// ReadPasswords reads them again; nil if that is not possible.
	ReadPasswords func() (*access.Passwords, error)
	// PeerUID asks the kernel for the user at the other end of a connection; peer.UID if
	// nil.
	PeerUID func(net.Conn) (uint32, error)
	User    string // the name of callers without one
	// Nodes configures how compute nodes reach the daemon, if they need to.
	Nodes NodeAccess
	// AllowedHosts are names of the daemon besides those of this machine, and hosts of
	// pages that may use it.
	AllowedHosts []string
	// Cluster is the Slurm cluster to request allocations from.
	Cluster ClusterOptions
	// Site is where the daemon runs, according to files; nil if they do not say.
	Site *siteconfigs.Site
	// IdleTimeout is how long the daemon runs when it is not needed; 0: forever.
	IdleTimeout time.Duration
	// Lease is how long a runner's leases last after its latest turn; 0 means
	// DefaultLease.
	Lease time.Duration
	// Notify configures how messages about alerts are sent.
	Notify NotifyOptions
	// InProcess omits the listeners and the endpoint file: all callers are in this
	// process and use Handler.
	InProcess bool
	// Now is the clock of the host, which may jump; time.Now if nil. Leases always use
	// the monotonic clock.
	Now func() time.Time
	// StartLogin starts a runner on this host for jobs that run only here; nil if they
	// must wait for one that a user starts.
	StartLogin func(store.LoginWork) (LoginProcess, error)
	// Agents configures the agents that are asked about held jobs.
	Agents AgentOptions
	// EndLeftovers ends what a dead runner of this host left running; the argument is the
	// runner's output directory.
	EndLeftovers func(outputDir string) error
	// Spooled reads the spool of a runner that has ended, in an output directory; nil if
	// that is not possible.
	Spooled func(outputDir, database string, runnerID int64) ([]Spooled, error)

	Version           string
	GitHash           string
	MaxBulkBody       int64
	InitializeBarrier int
	Log               *slog.Logger
	Failpoint         func(name string)

	openFiles uint64        // in tests: overrides the limit for open files
	grace     time.Duration // in tests: overrides graceTime
	stall     time.Duration // in tests: overrides stallTime
}

// Daemon owns the job database and serves the API until it is stopped or has
// been idle for long enough.
type Daemon struct {
	o        DaemonOptions
	endpoint Endpoint // guarded by nodes.mu
	store    *store.Store
	server   *Server
	http     *http.Server
	watchdog *watchdog
	notifier *notifier
	idle     *idle
	guard    *guard.Guard
	unnamed  sync.Once     // logs once that the kernel does not name callers
	cluster  *cluster      // nil without Slurm
	logins   *loginRunners // nil if the daemon starts no runners
	agents   *classifiers  // nil if the daemon asks no agents

	nodes  nodeAccess
	shares connlimit.Shares
	cancel context.CancelFunc
	failed chan error // why it must stop
	loops  sync.WaitGroup
	stop   sync.Once
	done   chan struct{} // closed when everything has ended
	err    error         // how it ended; read it after done
}

// shutdownTime limits how long answers in progress may take.
const shutdownTime = 5 * time.Second

// Start opens the database, listens, writes the endpoint file and serves.
func Start(ctx context.Context, o DaemonOptions) (*Daemon, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	d := &Daemon{o: o, done: make(chan struct{})}
	wake := hub.New()
	delayed := make(chan int64, 1)
	cancels := make(chan struct{}, 1)
	changed := make(chan struct{}, 1)
	notify := make(chan struct{}, 1)
	logins := make(chan struct{}, 1)
	st, err := store.Open(ctx, store.Options{
		Path: o.Database, InMemory: o.InMemory, Now: o.Now, Log: o.Log, Failpoint: o.Failpoint, Notify: o.Notify.Default,
		HoldLimit: d.holdLimit,
		OnCommit: func(c store.Changes) {
			wake.Publish(c)
			if c.Cancels {
				select {
				case cancels <- struct{}{}:
				default: // it has been woken already
				}
			}
			if len(c.Ready)+len(c.Ended) > 0 || c.Allocations {
				select {
				case changed <- struct{}{}:
				default: // it has been woken already
				}
			}
			if len(c.Ready)+len(c.Runners) > 0 {
				select {
				case logins <- struct{}{}:
				default: // it has been woken already
				}
			}
			if c.Notifications {
				select {
				case notify <- struct{}{}:
				default: // it has been woken already
				}
			}
			if c.NotBefore != 0 {
				select {
				case delayed <- c.NotBefore:
				default: // the watchdog has not yet read the last one
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	d.store = st
	d.server = &Server{
		Store: st, Hub: wake, Log: o.Log, Version: o.Version, GitHash: o.GitHash,
		MaxBulkBody: o.MaxBulkBody, InitializeBarrier: o.InitializeBarrier, Lease: o.Lease, stall: o.stall,
	}
	d.server.Origins = access.NewOrigins(append(o.AllowedHosts, o.Host, o.Nodes.Host)...)
	d.server.Auth = d.authenticator()
	d.guard = &guard.Guard{Shared: o.Shared, Unknown: d.unknownPeer, UID: o.PeerUID, Log: o.Log}
	d.notifier = newNotifier(st, o.Notify, notify, o.Log, o.Now)
	d.watchdog = newWatchdog(d.server, delayed, o)
	if o.StartLogin != nil {
		d.logins = newLoginRunners(d.server, logins, o.StartLogin)
	}
	if o.Agents.Server != nil && !o.InProcess {
		d.server.asksAgents = true
		d.agents = newClassifiers(st, o.Agents, func() string { return d.Endpoint().URL }, o.Shared, o.Log, o.Now)
	}
	if o.Cluster.Slurm != nil {
		d.cluster = newCluster(d, cancels)
		d.server.Slurm, d.server.PollAllocations = o.Cluster.Slurm, d.cluster.Wake
		d.server.Cluster, d.server.Poller, d.watchdog.cluster = d.cluster, d.cluster, d.cluster
		d.server.Scheduler = d.cluster.scheduler(changed)
	}
	if err := d.serve(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return d, nil
}

// authenticator returns what checks the callers of requests.
func (d *Daemon) authenticator() access.Authenticator {
	var owner access.Authenticator = access.NewTokenAuth(d.o.Token, d.o.User)
	if d.o.Passwords != nil {
		checker := access.NewChecker(d.o.Passwords, d.o.PasswordsKept)
		owner = &access.PasswordAuth{Token: owner, Passwords: checker}
		if d.o.ReadPasswords != nil {
			d.server.reloadPasswords = func() (users int, err error) {
				p, err := d.o.ReadPasswords()
				if err != nil {
					return 0, err
				}
				checker.Replace(p)
				return len(p.Users()), nil
			}
		}
	}
	return &access.PeerAuth{
		Others: &access.SecretAuth{Owner: owner, Store: d.store, User: d.o.User},
		Shared: d.o.Shared, User: d.o.User,
	}
}

// unknownPeer reports whether a connection stays whose user the kernel does not name; its
// requests then need credentials.
func (d *Daemon) unknownPeer(c net.Conn, err error) bool {
	if at, ok := c.RemoteAddr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		return true // as for every other host
	}
	d.unnamed.Do(func() {
		file := ""
		if d.o.EndpointPath != "" {
			file = TokenPath(d.o.EndpointPath)
		}
		d.o.Log.Warn("the kernel does not report the calling user, as in some sandboxes: callers need the token", "token_file", file, "error", err)
	})
	return true
}

// complete sets defaults. It returns an error with CodeInvalid for an option that makes
// no sense.
func (o *DaemonOptions) complete() error {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if o.Lease = cmp.Or(o.Lease, DefaultLease); o.Lease < leastLease {
		return workflow.Errorf(workflow.CodeInvalid, "leases of %s are too short", o.Lease).WithHint("use at least %s", leastLease)
	}
	if !isLoopback(o.Host) {
		return workflow.Errorf(workflow.CodeInvalid, "will not listen on %s without encryption: anybody on the network could read the credentials and run commands as you", o.Host).
			WithHint("leave --host at 127.0.0.1; for other hosts use --node-host ADDRESS, which listens with TLS, for callers with credentials")
	}
	if o.Token == "" {
		o.Token = cmp.Or(formerToken(o.EndpointPath), NewToken())
	}
	if o.Database == "" && o.InMemory {
		return nil
	}
	path, err := filepath.Abs(o.Database)
	if err != nil {
		return fmt.Errorf("path of the database: %w", err)
	}
	o.Database = path
	return nil
}

// serve listens and starts all loops.
func (d *Daemon) serve(ctx context.Context) error {
	if err := d.recover(ctx); err != nil {
		return err
	}
	if err := OtherCluster(d.o.EndpointPath, d.o.Cluster.Name); err != nil {
		return err
	}
	former, _ := ReadEndpoint(d.o.EndpointPath) // zero if there was none
	listeners, err := d.open(former)
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.idle = newIdle(d.store, d.server.leases, d.o.IdleTimeout, d.o.Log)
	d.server.idle = d.idle
	d.http = &http.Server{
		Handler: d.server.Handler(), ReadHeaderTimeout: graceTime, IdleTimeout: unusedTime,
		ConnContext: connContext, ConnState: connlimit.State,
		ErrorLog: slog.NewLogLogger(d.o.Log.Handler(), slog.LevelDebug),
	}
	d.failed = make(chan error, 3) // one for each listener
	for _, l := range listeners {
		d.accept(l)
	}
	if err := errors.Join(d.reopenForNodes(former), d.openAtOnce()); err != nil {
		d.o.Log.Error("other hosts cannot reach the daemon", "error", err)
	}
	d.loops.Go(func() { _ = d.watchdog.Run(run) }) // ends only with run
	d.loops.Go(func() { d.notifier.Run(run) })
	if d.cluster != nil {
		d.loops.Go(func() { d.cluster.Run(run) })
		d.loops.Go(func() { _ = d.server.Scheduler.Run(run) }) // ends only with run
	}
	if d.logins != nil {
		d.loops.Go(func() { d.logins.Run(run) })
	}
	if d.agents != nil {
		d.loops.Go(func() { d.agents.Run(run) })
	}
	d.loops.Go(func() { d.idle.giveBackMemory(run) })
	if d.o.Snapshots.Every > 0 {
		d.loops.Go(func() { d.snapshotEvery(run, d.o.Snapshots.Every) })
	}
	go d.supervise(run)
	return nil
}

// open listens, and writes where to the endpoint file. former is the endpoint file of a
// daemon that was killed.
func (d *Daemon) open(former Endpoint) ([]net.Listener, error) {
	host, _ := os.Hostname() // empty where there is none
	d.endpoint = Endpoint{
		Token: d.o.Token, Host: host, PID: os.Getpid(), BootID: BootID(), Database: d.o.Database,
		Started: time.Now().UTC(), Version: d.o.Version, Cluster: d.o.Cluster.Name,
	}
	if d.o.InProcess {
		d.endpoint.NodeURL, d.nodes.open = "in-process:", true
		return nil, nil
	}
	files, err := connlimit.OpenFiles()
	if err != nil {
		return nil, err
	}
	d.shares = connlimit.DivideFiles(cmp.Or(d.o.openFiles, files))
	tcp, err := d.listen()
	if err != nil {
		return nil, err
	}
	d.endpoint.URL = "http://" + tcp.Addr().String() + api.BasePath
	listeners := []net.Listener{d.guard.Listener(d.limit(tcp, d.shares.Host))}
	if unix := d.listenUnix(former); unix != nil {
		d.endpoint.Socket = unix.Path()
		listeners = append(listeners, d.guard.Listener(d.limit(unix, d.shares.Socket)))
	}
	if err := writeEndpoint(d.o.EndpointPath, d.endpoint); err != nil {
		for _, l := range listeners {
			err = errors.Join(err, l.Close())
		}
		return nil, err
	}
	return listeners, nil
}

// listenUnix listens on a Unix socket, whose path is only in the endpoint file; nil if
// there is no folder for one. Without it clients use the port, where the kernel also
// names the caller.
func (d *Daemon) listenUnix(former Endpoint) *socket.Listener {
	if d.o.EndpointPath == "" {
		return nil // no client could find it
	}
	// Hosts that share a folder have different daemons with the same path.
	of := sha256.Sum256([]byte(d.endpoint.Host + "\x00" + d.o.Database))
	left := ""
	if former.Host == d.endpoint.Host {
		left = former.Socket
	}
	l, err := socket.Listen(d.o.Sockets, hex.EncodeToString(of[:8]), left)
	if err != nil {
		d.o.Log.Warn("no folder for a Unix socket: commands on this host use the port", "url", d.endpoint.URL, "error", err)
		return nil
	}
	return l
}

// connContext stores the connection of a request in its context.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return guard.ConnContext(connlimit.Context(ctx, c), c)
}

// Limits of a connection: how long it may be open without an admitted request, without
// progress of a header, a body or an answer, and without a request.
const (
	graceTime  = 15 * time.Second
	stallTime  = 30 * time.Second
	unusedTime = 2 * time.Minute
)

// limit limits the connections of a listener. Half of them may be without credentials.
func (d *Daemon) limit(l net.Listener, most int) net.Listener {
	return connlimit.New(l, connlimit.Options{
		Max: most, MaxPending: most / 2, Grace: cmp.Or(d.o.grace, graceTime), Stall: cmp.Or(d.o.stall, stallTime), Closed: d.server.Metrics.connectionClosed,
	})
}

// Handler serves the API to callers in the same process.
func (d *Daemon) Handler() http.Handler { return d.http.Handler }

// accept serves the API on a listener until the daemon stops.
func (d *Daemon) accept(l net.Listener) {
	d.loops.Go(func() {
		if err := d.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	})
}

// listen listens on TCP: if any port will do, on that of a daemon that died.
func (d *Daemon) listen() (net.Listener, error) {
	if former := formerPort(d.o.EndpointPath); d.o.Port == 0 && former != 0 {
		if l, err := listenTCP(d.o.Host, former); err == nil {
			return l, nil
		}
	}
	return listenTCP(d.o.Host, d.o.Port)
}

// recover cleans up after a previous daemon.
func (d *Daemon) recover(ctx context.Context) error {
	if n, err := d.store.Tasks.FailInterrupted(ctx); err != nil {
		return err
	} else if n > 0 {
		d.o.Log.Warn("tasks of the previous daemon have failed", "tasks", n)
	}
	if err := d.store.Workflows.DeleteLeftovers(ctx); err != nil {
		return err
	}
	runners, err := d.store.Runners.Live(ctx)
	if err != nil {
		return err
	}
	d.server.defaults()
	now := time.Now()
	for _, r := range runners {
		d.server.leases.adopt(r.ID, now)
		if r.Hostname == d.watchdog.host {
			d.server.leases.suspect(r.ID) // whether it is alive can be checked at once
		}
	}
	// Deadlines that passed while no daemon ran are decided before the first request:
	// daemons that run only briefly would leave them to the next one forever.
	d.watchdog.passDeadlines(ctx)
	return nil
}

// supervise stops the daemon when it is told to, when it is idle, or when one of its
// loops fails.
func (d *Daemon) supervise(run context.Context) {
	defer close(d.done)
	var idle <-chan struct{}
	if d.o.IdleTimeout > 0 {
		ch := make(chan struct{})
		idle = ch
		d.loops.Go(func() {
			if d.idle.wait(run) {
				close(ch)
			}
		})
	}
	select {
	case <-run.Done():
	case <-idle:
		d.o.Log.Info("the daemon is idle and stops", "idle", d.o.IdleTimeout)
	case err := <-d.failed:
		d.err = err
	case <-d.store.Lost():
		d.err = d.store.Err()
	}
	d.cancel()
	if err := removeEndpoint(d.o.EndpointPath, d.Endpoint()); err != nil {
		d.o.Log.Warn("cannot remove the endpoint file", "error", err)
	}
	d.server.Stop() // ends event streams and long polls
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := d.http.Shutdown(ctx); err != nil {
		d.err = errors.Join(d.err, d.http.Close())
	}
	d.server.Close()
	d.loops.Wait()
	if d.o.Snapshots.AtEnd {
		d.err = errors.Join(d.err, d.Snapshot(context.Background()))
	}
	d.err = errors.Join(d.err, d.store.Close())
}

// Endpoint returns where the daemon can be reached.
func (d *Daemon) Endpoint() Endpoint {
	d.nodes.mu.Lock()
	defer d.nodes.mu.Unlock()
	return d.endpoint
}

// Store returns the daemon's database, for callers in the same process.
func (d *Daemon) Store() *store.Store { return d.store }

// Stop ends the daemon without waiting.
func (d *Daemon) Stop() { d.stop.Do(d.cancel) }

// Wait waits until the daemon has ended, and returns how.
func (d *Daemon) Wait() error {
	<-d.done
	return d.err
}
