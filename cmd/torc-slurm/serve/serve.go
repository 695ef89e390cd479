// Package serve has the command that runs the server, and the options of every daemon.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// snapshotLine is the beginning of the line that is printed after each snapshot.
const snapshotLine = "TORC_SNAPSHOT_DONE="

// idleTimeout is how long a daemon that was started on demand keeps running when nobody
// needs it.
const idleTimeout = 30 * time.Minute

// serveFlags are the flags of serve. Their names are those of torc-server.
type serveFlags struct {
	version   string // of this program
	logLevel  string
	host      string
	port      int
	database  string
	tokenFile string
	authFile  string
	// requireAuth only makes the authentication file mandatory.
	requireAuth bool
	logDir      string
	jsonLogs    bool
	daemon      bool
	pidFile     string
	nodeHost    string
	allowed     []string
	sbatch      string

	onDemand      bool
	detached      bool
	towards       string
	shutdownOnEOF bool
	threads       int
	checkInterval float64
}

// New returns the command that runs the server; version is that of the program.
func New(a *cli.Factory, version string) *cobra.Command {
	flags := serveFlags{version: version}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server in the foreground",
		Long: `Run the server in the foreground until Ctrl-C. You rarely need this command, because
other commands start your daemon when they need it. If the server uses the database of
your daemon, which is the default, they use this server instead.

Once the server listens, it prints the line TORC_SERVER_PORT=<port>. It answers only
you: the kernel reports which user calls, so your processes need no password. With
--auth-file or --token-file it is shared: others on this machine, and others who reach
--node-host through TLS, may use it with a password or the token, and run commands as
you.

On SIGUSR1 the server writes a snapshot of the database to TORC_SERVER_SNAPSHOT_PATH
(torc-server-snapshot.db) and then prints the line TORC_SNAPSHOT_DONE=<path>. It keeps
the last TORC_SERVER_SNAPSHOT_KEEP (5) snapshots. The database :memory: starts empty and
is lost when the server stops; only its snapshots remain.

With --sbatch, Slurm runs your daemon in a separate job, for sites that kill long-running
processes on login nodes. The command returns when the daemon answers. The job is
requeued before it reaches its time limit.`,
		GroupID: cli.GroupServer,
		Example: `  torc-slurm serve
  torc-slurm serve --port 0 --database /data/torc.db --token-file ~/.torc-token
  torc-slurm serve --sbatch '--time=7-00:00:00 --partition=service'
  DATABASE_URL=sqlite:torc.db torc-server run --port 8080`,
		Args: cobra.NoArgs,
		Annotations: cli.Exits("1 the server failed", "2 wrong usage, or an address on which it must not listen",
			"5 the database is in use or cannot be used, or the port is in use"),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case c.Flags().Changed("sbatch"):
				return serveInAllocation(c.Context(), a, strings.Fields(flags.sbatch))
			case flags.daemon:
				return detach(a, c)
			}
			return runServe(c.Context(), a, c.Flags(), flags)
		},
	}
	addServeFlags(c.Flags(), &flags)
	return c
}

func addServeFlags(f *pflag.FlagSet, flags *serveFlags) {
	f.StringVarP(&flags.host, "host", "H", "", "`ADDRESS` to listen on (default 127.0.0.1)")
	f.IntVarP(&flags.port, "port", "p", 8080, "`PORT` to listen on; 0 for a free one")
	f.StringVarP(&flags.database, "database", "d", "", "database `FILE`, or :memory: (DATABASE_URL; default: that of your daemon)")
	f.StringVar(&flags.authFile, "auth-file", "", "`FILE` of torc-htpasswd with the users who may call the server, and their passwords (TORC_AUTH_FILE, server.auth_file)")
	f.BoolVar(&flags.requireAuth, "require-auth", false, "accepted for compatibility: other users always need a password")
	f.StringVar(&flags.tokenFile, "token-file", "", "`FILE` with a token that lets other users call the server; created if it does not exist")
	f.StringVarP(&flags.logLevel, "log-level", "l", "", "`LEVEL` of messages: debug, info, warn or error (RUST_LOG; default info)")
	f.StringVar(&flags.logDir, "log-dir", "", "write the log to a file in `DIR` (TORC_LOG_DIR)")
	f.BoolVar(&flags.jsonLogs, "json-logs", false, "write the log as JSON")
	f.BoolVar(&flags.daemon, "daemon", false, "run in the background; the command returns once the server listens")
	f.StringVar(&flags.pidFile, "pid-file", "", "write the process id to `FILE`")
	f.StringVar(&flags.nodeHost, "node-host", "", "`ADDRESS` of this host on which it listens for compute nodes and other login nodes (server.node_host; default: determined when needed)")
	f.StringSliceVar(&flags.allowed, "allowed-host", nil, "another `NAME` of this server, or the host of a web page that may call it (server.allowed_hosts)")
	f.StringVar(&flags.sbatch, "sbatch", "", "run your daemon in a Slurm job, with these `OPTIONS` of sbatch")
	f.IntVarP(&flags.threads, "threads", "t", 0, "accepted for compatibility")
	f.Float64VarP(&flags.checkInterval, "completion-check-interval-secs", "c", 0, "accepted for compatibility: nothing is polled")
	f.BoolVar(&flags.onDemand, "on-demand", false, "")
	f.BoolVar(&flags.detached, "detached", false, "")
	f.StringVar(&flags.towards, "towards", "", "")
	f.BoolVar(&flags.shutdownOnEOF, "shutdown-on-stdin-eof", false, "")
	for _, name := range []string{"disable-admin-sql", "disable-admin-sql-writes"} {
		f.Bool(name, false, "accepted for compatibility: there is no SQL for administrators")
		_ = f.MarkHidden(name)
	}
	for _, name := range []string{"threads", "completion-check-interval-secs", "on-demand", "detached", "towards", "shutdown-on-stdin-eof"} {
		_ = f.MarkHidden(name)
	}
	f.StringVarP(&flags.host, "url", "u", "", "") // torc-server's other name of --host
	_ = f.MarkHidden("url")
}

// detach starts the server as another process in the background, and waits until it listens.
// It returns an error with the end of the server's log if the server does not start.
func detach(a *cli.Factory, c *cobra.Command) error {
	args := []string{"serve", "--detached"}
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "daemon" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	if err := os.MkdirAll(a.Home(), 0o700); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "create the folder of the server's log: %v", err)
	}
	// The server does not inherit standard error: a process that reads ours to its end would
	// otherwise wait until the server stops.
	log, err := daemonlink.OpenDaemonLog(a.Home())
	if err != nil {
		return err
	}
	defer log.Close()
	began, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	ctx, cancel := context.WithTimeout(c.Context(), daemonlink.StartTime)
	defer cancel()
	cmd := exec.Command(a.Executable, args...)
	cmd.Args[0] = "torc-slurm"
	cmd.Env, cmd.Dir, cmd.Stderr = a.Environ, a.Dir, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	port, err := daemonlink.StartServer(ctx, cmd)
	if err != nil {
		return workflow.Errorf(workflow.CodeUnavailable, "the server did not start: %v", err).
			WithHint("%s ends with:\n%s", log.Name(), daemonlink.LogTail(log.Name(), began))
	}
	fmt.Fprintf(a.Stdout, "%s%s\n", daemonlink.PortLine, port)
	return nil
}

func runServe(ctx context.Context, a *cli.Factory, set *pflag.FlagSet, flags serveFlags) error {
	log, closeLog, err := serverLog(a, flags)
	if err != nil {
		return err
	}
	defer closeLog()
	o, err := serveOptions(ctx, a, set, flags, log)
	if err != nil {
		return err
	}
	signals := a.Interrupts.Take()
	snapshots, stop := a.SnapshotSignals()
	defer stop()
	d, err := startDaemon(ctx, a, o, flags.onDemand)
	if err != nil {
		return err
	}
	if flags.pidFile != "" {
		if err := trustedfile.Write(a.Path(flags.pidFile), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
			d.Stop()
			return errors.Join(cli.FailedErrorf("--pid-file: %v", err), d.Wait())
		}
		defer os.Remove(a.Path(flags.pidFile))
	}
	e := d.Endpoint()
	log.Info("listening", "url", e.URL, "socket", e.Socket, "database", e.Database)
	fmt.Fprintf(a.Stdout, "%s%s\n", daemonlink.PortLine, portOf(e.URL))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = d.Wait()
	}()
	eof := stdinEOF(a, flags.shutdownOnEOF)
	for {
		select {
		case <-ended:
			return err
		case sig := <-signals:
			if sig == syscall.SIGHUP && (flags.onDemand || flags.detached) {
				continue // it does not depend on a terminal
			}
			log.Info("stopping", "signal", sig.String())
			d.Stop()
		case <-eof:
			eof = nil
			d.Stop()
		case <-snapshots:
			if err := d.Snapshot(ctx); err != nil {
				log.Error("cannot write a snapshot", "path", o.Snapshots.Path, "error", err)
				continue
			}
			fmt.Fprintf(a.Stdout, "%s%s\n", snapshotLine, o.Snapshots.Path)
		}
	}
}

// stoppingTime is how long a daemon that starts waits for another one that is stopping.
const stoppingTime = 15 * time.Second

// startDaemon starts a daemon and returns it. If it was started on demand while another daemon
// is stopping, which has removed its endpoint file but still holds the database, startDaemon
// waits for that, up to stoppingTime.
func startDaemon(ctx context.Context, a *cli.Factory, o server.DaemonOptions, onDemand bool) (*server.Daemon, error) {
	for deadline := a.Now().Add(stoppingTime); ; {
		d, err := server.Start(ctx, o)
		if err == nil || !onDemand || workflow.CodeOf(err) != workflow.CodeConflict || cli.Exists(a, o.EndpointPath) || a.Now().After(deadline) {
			return d, err
		}
		if err := cli.Pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// stdinEOF returns a channel that is closed at the end of standard input, or nil if that is
// not wanted. Its goroutine may run until the program exits.
func stdinEOF(a *cli.Factory, wanted bool) <-chan struct{} {
	if !wanted {
		return nil
	}
	eof := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, a.Stdin) // an error counts as the end
		close(eof)
	}()
	return eof
}

// portOf returns the port in the URL of an endpoint.
func portOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	_, port, _ := cli.CutLast(host, ":")
	return port
}

// serverLog returns the log of a server and the function that closes it, or an error if the
// level is invalid or the file cannot be opened.
func serverLog(a *cli.Factory, flags serveFlags) (log *slog.Logger, closeLog func(), err error) {
	config := a.Config.Server
	text := cli.FirstOf(flags.logLevel, a.Getenv("RUST_LOG"), config.LogLevel)
	level := slog.LevelDebug
	if !a.Flags.Verbose {
		if level, err = cli.ParseLogLevel(text); err != nil {
			return nil, nil, err
		}
	}
	out, closeLog := a.Stderr, func() {}
	if dir := cli.FirstOf(flags.logDir, a.Getenv("TORC_LOG_DIR"), config.Logging.LogDir); dir != "" {
		f, err := openRotating(filepath.Join(a.Path(dir), "torc-server.log"))
		if err != nil {
			return nil, nil, workflow.Errorf(workflow.CodeForbidden, "--log-dir: %v", err)
		}
		out, closeLog = f, f.Close
	}
	if flags.jsonLogs || config.Logging.JSONLogs {
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})), closeLog, nil
	}
	return cli.LogTo(out, level), closeLog, nil
}
