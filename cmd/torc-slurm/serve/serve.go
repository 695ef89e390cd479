// Package serve has the command that is the server, and what every daemon is given.
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

// snapshotLine is how the line begins that says that a snapshot is there.
const snapshotLine = "TORC_SNAPSHOT_DONE="

// idleTimeout is how long a daemon that was started on demand stays when
// nobody needs it.
const idleTimeout = 30 * time.Minute

// serveFlags are those of serve; names are torc-server's.
type serveFlags struct {
	version   string // of this program
	logLevel  string
	host      string
	port      int
	database  string
	tokenFile string
	authFile  string
	// requireAuth changes nothing but that an authentication file is needed.
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

// New makes the command that runs the server; version is that of the program.
func New(a *cli.Factory, version string) *cobra.Command {
	flags := serveFlags{version: version}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server in the foreground",
		Long: `Run the server in the foreground until Ctrl-C. You rarely need it: commands start
your daemon by themselves. On the database of your daemon, which is the default,
they find this one instead.

The first line on standard output is TORC_SERVER_PORT=<port>, once it listens.
It answers you alone: the kernel tells whose process calls, and yours need no
password. With --auth-file or --token-file it is shared: others on this machine, and
by TLS those who reach --node-host, may use it with a password or the token, and run
commands as you.

SIGUSR1 makes it write a snapshot of the database to TORC_SERVER_SNAPSHOT_PATH
(torc-server-snapshot.db) and then the line TORC_SNAPSHOT_DONE=<path>; the last
TORC_SERVER_SNAPSHOT_KEEP (5) snapshots are kept. The database :memory: is in
memory and begins empty; nothing but snapshots survives the server.

With --sbatch Slurm runs your daemon in a job of its own, for sites that end what
runs long on login nodes. The command returns when it answers. Before the time of
the job is up, the job is started again.`,
		GroupID: cli.GroupServer,
		Example: `  torc-slurm serve
  torc-slurm serve --port 0 --database /data/torc.db --token-file ~/.torc-token
  torc-slurm serve --sbatch '--time=7-00:00:00 --partition=service'
  DATABASE_URL=sqlite:torc.db torc-server run --port 8080`,
		Args: cobra.NoArgs,
		Annotations: cli.Exits("1 it could not go on", "2 wrong usage, or an address that it must not listen on",
			"5 the database is in use or cannot be used, or the port is taken"),
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
	f.StringVar(&flags.authFile, "auth-file", "", "`FILE` with users and passwords by which other users may call, as torc-htpasswd writes it (TORC_AUTH_FILE, server.auth_file)")
	f.BoolVar(&flags.requireAuth, "require-auth", false, "accepted for compatibility: other users always need a password")
	f.StringVar(&flags.tokenFile, "token-file", "", "`FILE` with a token by which other users may call; made if it is not there")
	f.StringVarP(&flags.logLevel, "log-level", "l", "", "`LEVEL` of messages: debug, info, warn or error (RUST_LOG; default info)")
	f.StringVar(&flags.logDir, "log-dir", "", "write the log into `DIR` (TORC_LOG_DIR)")
	f.BoolVar(&flags.jsonLogs, "json-logs", false, "write the log as JSON")
	f.BoolVar(&flags.daemon, "daemon", false, "go to the background once it listens")
	f.StringVar(&flags.pidFile, "pid-file", "", "write the process id to `FILE`")
	f.StringVar(&flags.nodeHost, "node-host", "", "`ADDRESS` of this host that compute nodes and other login nodes reach, where it listens for them (server.node_host; default: found when it is needed)")
	f.StringSliceVar(&flags.allowed, "allowed-host", nil, "another `NAME` of this server, or the host of a page that may use it (server.allowed_hosts)")
	f.StringVar(&flags.sbatch, "sbatch", "", "run your daemon in a job of Slurm, with these `OPTIONS` of sbatch")
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

// detach starts the server again in the background and returns when it
// listens.
func detach(a *cli.Factory, c *cobra.Command) error {
	args := []string{"serve", "--detached"}
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "daemon" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	if err := os.MkdirAll(a.Home(), 0o700); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "folder for the log of the server: %v", err)
	}
	// Not this program's standard error: whoever waits for its end would wait
	// for the server's.
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
				continue // it belongs to no terminal
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

// leavingTime is how long a daemon that is needed waits for one that is leaving.
const leavingTime = 15 * time.Second

// startDaemon starts a daemon. One that was needed while another one is on its way
// out, which has no endpoint file any more and still has the database, comes after it.
func startDaemon(ctx context.Context, a *cli.Factory, o server.DaemonOptions, onDemand bool) (*server.Daemon, error) {
	for deadline := a.Now().Add(leavingTime); ; {
		d, err := server.Start(ctx, o)
		if err == nil || !onDemand || workflow.CodeOf(err) != workflow.CodeConflict || cli.Exists(a, o.EndpointPath) || a.Now().After(deadline) {
			return d, err
		}
		if err := cli.Pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// stdinEOF returns a channel that is closed at the end of standard input, nil
// if that is not wanted. The goroutine ends with the program.
func stdinEOF(a *cli.Factory, wanted bool) <-chan struct{} {
	if !wanted {
		return nil
	}
	eof := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, a.Stdin) // an error is an end, too
		close(eof)
	}()
	return eof
}

// portOf is the port of an endpoint's URL.
func portOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	_, port, _ := cli.CutLast(host, ":")
	return port
}

// serverLog makes the log of a server.
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
