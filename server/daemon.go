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

// DaemonOptions say how a daemon runs. Database and EndpointPath are needed,
// save for a database in memory.
type DaemonOptions struct {
	Database     string // path of the job database
	EndpointPath string // where to write how to reach it; empty: nowhere
	// InMemory keeps the database in memory; what the file Database has is read
	// at the start.
	InMemory  bool
	Snapshots Snapshots
	// Host and Port are where it listens on TCP; 127.0.0.1 and a free port
	// where zero.
	Host string
	Port int
	// Sockets are the folders for its Unix socket.
	Sockets socket.Folders
	// Token is what callers must know for whom the kernel does not vouch as the user
	// who runs the daemon. If it is empty, it is that of the daemon that was here
	// before and ended in an orderly way, or a new one.
	Token string
	// Shared lets in other users of this host, by their credentials. Without it
	// only the user who runs the daemon gets an answer.
	Shared bool
	// Passwords are those of the users of a shared daemon; nil: there is only the
	// token. PasswordsKept is how long one that was right is remembered.
	Passwords     *access.Passwords
	PasswordsKept time.Duration
	// ReadPasswords reads them again; nil if that is not possible.
	ReadPasswords func() (*access.Passwords, error)
	// PeerUID asks the kernel who is at the other end of a connection; peer.UID if
	// nil.
	PeerUID func(net.Conn) (uint32, error)
	User    string // who a caller without a name is
	// Nodes says how compute nodes reach the daemon, once they have to.
	Nodes NodeAccess
	// AllowedHosts are names by which it is reached besides those of this
	// machine, and hosts of pages that may use it.
	AllowedHosts []string
	// Cluster is the Slurm cluster to ask for allocations.
	Cluster ClusterOptions
	// Site is where the daemon runs as far as files describe it; nil: they do not.
	Site *siteconfigs.Site
	// IdleTimeout is how long the daemon runs when it is not needed; 0: for ever.
	IdleTimeout time.Duration
	// Lease is how long a runner's leases last after its latest turn; 0 means
	// DefaultLease.
	Lease time.Duration
	// Notify says how messages about alerts are sent.
	Notify NotifyOptions
	// InProcess leaves out the listeners and the endpoint file: all callers are
	// in this process and use Handler.
	InProcess bool
	// Now is the host's clock, which may jump; time.Now if nil. Leases go by
	// the monotonic clock in any case.
	Now func() time.Time
	// StartLogin starts a runner on this host for jobs that run here alone; nil if
	// they have to wait for one that a user starts.
	StartLogin func(store.LoginWork) (LoginProcess, error)
	// EndLeftovers ends what a dead runner of this host left running; the
	// argument is the runner's output directory.
	EndLeftovers func(outputDir string) error
	// Spooled reads what a runner that is over wrote down in an output directory;
	// nil if that is not possible.
	Spooled func(outputDir, database string, runnerID int64) ([]Spooled, error)

	Version           string
	GitHash           string
	MaxBulkBody       int64
	InitializeBarrier int
	Log               *slog.Logger
	Failpoint         func(name string)

	openFiles uint64        // in tests: instead of the limit for open files
	grace     time.Duration // in tests: instead of graceTime
	stall     time.Duration // in tests: instead of stallTime
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
	untold   sync.Once     // the log says that the kernel does not tell who calls
	cluster  *cluster      // nil without Slurm
	logins   *loginRunners // nil if the daemon starts none

	nodes  nodeAccess
	shares connlimit.Shares
	cancel context.CancelFunc
	failed chan error // why it must stop
	loops  sync.WaitGroup
	stop   sync.Once
	done   chan struct{} // closed when everything has ended
	err    error         // how it ended; read after done
}

// shutdownTime bounds how long answers that are under way may take.
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
				default: // it is already woken
				}
			}
			if len(c.Ready)+len(c.Ended) > 0 || c.Allocations {
				select {
				case changed <- struct{}{}:
				default: // it is already woken
				}
			}
			if len(c.Ready)+len(c.Runners) > 0 {
				select {
				case logins <- struct{}{}:
				default: // it is already woken
				}
			}
			if c.Notifications {
				select {
				case notify <- struct{}{}:
				default: // it is already woken
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

// authenticator checks who makes a request.
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

// unknownPeer has credentials decide about a connection of which the kernel does not
// tell who makes it.
func (d *Daemon) unknownPeer(c net.Conn, err error) bool {
	if at, ok := c.RemoteAddr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		return true // as for every other host
	}
	d.untold.Do(func() {
		file := ""
		if d.o.EndpointPath != "" {
			file = TokenPath(d.o.EndpointPath)
		}
		d.o.Log.Warn("the kernel does not tell which user calls, as in some sandboxes: callers need the token", "token_file", file, "error", err)
	})
	return true
}

// complete fills in defaults and returns an error of the code invalid for an option
// that makes no sense.
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
		return workflow.Errorf(workflow.CodeInvalid, "leases of %s are too short", o.Lease).WithHint("let them be %s at least", leastLease)
	}
	if !isLoopback(o.Host) {
		return workflow.Errorf(workflow.CodeInvalid, "refused to listen on %s without encryption: who listens on the way could read the credentials and run commands as you", o.Host).
			WithHint("leave --host at 127.0.0.1; for other hosts --node-host ADDRESS listens with TLS, for callers with credentials")
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

// serve listens and starts everything that runs beside the requests.
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
	d.loops.Go(func() { d.idle.giveBackMemory(run) })
	if d.o.Snapshots.Every > 0 {
		d.loops.Go(func() { d.snapshotEvery(run, d.o.Snapshots.Every) })
	}
	go d.supervise(run)
	return nil
}

// open listens, and writes the endpoint file that says where. former is what the
// endpoint file of a daemon that was killed says.
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

// listenUnix listens on a Unix socket, whose path only the endpoint file has; nil if
// there is no place for one. Without it clients use the port, where the kernel also
// tells who calls.
func (d *Daemon) listenUnix(former Endpoint) *socket.Listener {
	if d.o.EndpointPath == "" {
		return nil // no client could find it
	}
	// Hosts share folders, and have their own daemons of a path.
	of := sha256.Sum256([]byte(d.endpoint.Host + "\x00" + d.o.Database))
	left := ""
	if former.Host == d.endpoint.Host {
		left = former.Socket
	}
	l, err := socket.Listen(d.o.Sockets, hex.EncodeToString(of[:8]), left)
	if err != nil {
		d.o.Log.Warn("no Unix socket can be had: commands on this host use the port", "url", d.endpoint.URL, "error", err)
		return nil
	}
	return l
}

// connContext has requests know the connection that they come by.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return guard.ConnContext(connlimit.Context(ctx, c), c)
}

// Limits of a connection: how long it may be open without a request that was
// admitted, without a part of a header, a body or an answer that moves on, and
// without a request.
const (
	graceTime  = 15 * time.Second
	stallTime  = 30 * time.Second
	unusedTime = 2 * time.Minute
)

// limit bounds the connections of a listener. Half of them may be without
// credentials.
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

// listen listens on TCP, where any port will do on that of a daemon that died.
func (d *Daemon) listen() (net.Listener, error) {
	if former := formerPort(d.o.EndpointPath); d.o.Port == 0 && former != 0 {
		if l, err := listenTCP(d.o.Host, former); err == nil {
			return l, nil
		}
	}
	return listenTCP(d.o.Host, d.o.Port)
}

// recover brings what a former daemon left behind into order.
func (d *Daemon) recover(ctx context.Context) error {
	if n, err := d.store.Tasks.FailInterrupted(ctx); err != nil {
		return err
	} else if n > 0 {
		d.o.Log.Warn("tasks of the former daemon have failed", "tasks", n)
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
			d.server.leases.doubt(r.ID) // whether it is still there can be seen at once
		}
	}
	// Deadlines that passed while no daemon ran are decided before the first request:
	// daemons that run only for a moment would leave them to the next one for ever.
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
	d.server.Stop() // event streams and long polls end
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

// Endpoint is where the daemon can be reached.
func (d *Daemon) Endpoint() Endpoint {
	d.nodes.mu.Lock()
	defer d.nodes.mu.Unlock()
	return d.endpoint
}

// Store is the daemon's database, for callers in the same process.
func (d *Daemon) Store() *store.Store { return d.store }

// Stop ends the daemon; it does not wait.
func (d *Daemon) Stop() { d.stop.Do(d.cancel) }

// Wait returns when the daemon has ended, and how.
func (d *Daemon) Wait() error {
	<-d.done
	return d.err
}
