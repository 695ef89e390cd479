package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	"github.com/torc-slurm/torc-slurm/internal/failpoint"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/socket"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// DaemonOptions returns the function that makes the options of every daemon of this version
// of the program, wherever the daemon runs. The function returns a usage error for an invalid
// environment variable or configuration.
func DaemonOptions(version string) func(a *cli.Factory, log *slog.Logger) (server.DaemonOptions, error) {
	return func(a *cli.Factory, log *slog.Logger) (server.DaemonOptions, error) {
		return optionsOf(a, version, log)
	}
}

func optionsOf(a *cli.Factory, version string, log *slog.Logger) (server.DaemonOptions, error) {
	points, err := failpoint.Parse(a.Getenv("TORC_SLURM_FAILPOINTS"))
	if err != nil {
		return server.DaemonOptions{}, cli.UsageErrorf("TORC_SLURM_FAILPOINTS: %v", err)
	}
	o := server.DaemonOptions{
		User: a.User(), GitHash: version, Log: log, Cluster: clusterOptions(a), Lease: cli.Seconds(a.Config.Server.LeaseSecs),
		Sockets: socket.Folders{Runtime: a.Getenv("XDG_RUNTIME_DIR"), State: a.Home()},
		EndLeftovers: func(dir string) error {
			_, err := process.EndLeftovers(dir, log)
			return err
		},
		Spooled: spooled,
	}
	if finder, err := sites.Finder(a); err != nil {
		log.Warn("cannot read the site files; they are ignored", "error", err)
	} else {
		o.Site = finder.WithoutAsking()
	}
	if o.Notify, err = a.Config.Server.Notify.Options(); err != nil {
		return o, err
	}
	if points != nil {
		o.Failpoint = points.Hit
	}
	for _, n := range []struct {
		name string
		set  func(int64)
	}{
		{"TORC_MAX_REQUEST_BODY_MB", func(n int64) { o.MaxBulkBody = n << 20 }},
		{"TORC_TEST_INITIALIZE_JOBS_BARRIER", func(n int64) { o.InitializeBarrier = int(n) }},
	} {
		text := a.Getenv(n.name)
		if text == "" {
			continue
		}
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil || v < 1 {
			return o, cli.UsageErrorf("%s: %q is not a positive whole number", n.name, text)
		}
		n.set(v)
	}
	return o, nil
}

// serveOptions returns the options of serve. It returns an error if flags or configuration
// are invalid, or would come from a file that is not trusted.
func serveOptions(ctx context.Context, a *cli.Factory, set *pflag.FlagSet, flags serveFlags, log *slog.Logger) (server.DaemonOptions, error) {
	o, err := optionsOf(a, flags.version, log)
	if err != nil {
		return o, err
	}
	if !flags.onDemand {
		if a.DotEnvRefusal != nil {
			return o, a.DotEnvRefusal
		}
		if err := a.Config.RefuseWithheld("server."); err != nil {
			return o, err
		}
	}
	if err := placeDatabase(ctx, a, &o, flags); err != nil {
		return o, err
	}
	if o.EndpointPath != "" {
		o.StartLogin = startLogin(a, o.EndpointPath)
	}
	if o.Agents, err = agentOptions(a); err != nil {
		return o, err
	}
	o.AllowedHosts = slices.Concat(flags.allowed, a.Config.Server.AllowedHosts)
	o.Nodes.Host, o.Nodes.Towards = cli.FirstOf(flags.nodeHost, a.Config.Server.NodeHost), flags.towards
	if flags.onDemand {
		o.IdleTimeout = idleTimeout
		if s := a.Config.Server.IdleTimeoutSecs; s > 0 {
			o.IdleTimeout = cli.Seconds(s)
		}
		return o, nil
	}
	config := a.Config.Server
	if err := checkProtection(&config); err != nil {
		return o, err
	}
	o.Snapshots.Path = cli.FirstOf(a.Getenv("TORC_SERVER_SNAPSHOT_PATH"), "./torc-server-snapshot.db")
	if o.Snapshots.Keep, err = a.SnapshotsKept(); err != nil {
		return o, err
	}
	o.Host = cli.FirstOf(flags.host, config.URL, config.Host)
	o.Port = flags.port
	if !set.Changed("port") && config.Port != 0 {
		o.Port = config.Port
	}
	if o.Port < 0 || o.Port > 65535 {
		return o, cli.UsageErrorf("--port %d: ports are numbers from 0 to 65535", o.Port)
	}
	if err := shareWithPasswords(a, &o, flags); err != nil {
		return o, err
	}
	if flags.tokenFile == "" {
		return o, nil
	}
	o.Shared = true
	o.Token, err = readToken(a.Path(flags.tokenFile))
	return o, err
}

// shareWithPasswords makes the server accept the users of the authentication file, if one is
// set. It returns an error if the file cannot be read, has no users, or is required and not
// set.
func shareWithPasswords(a *cli.Factory, o *server.DaemonOptions, flags serveFlags) error {
	config := a.Config.Server
	path := cli.FirstOf(flags.authFile, a.Getenv("TORC_AUTH_FILE"), config.AuthFile)
	if path == "" {
		if flags.requireAuth || config.RequireAuth {
			return cli.UsageErrorf("--require-auth needs --auth-file")
		}
		return nil
	}
	o.ReadPasswords = func() (*access.Passwords, error) {
		passwords, warning, err := access.ReadPasswords(a.Path(path))
		switch {
		case err != nil:
			return nil, err
		case len(passwords.Users()) == 0:
			return nil, cli.UsageErrorf("authentication file %s has no users; add them with torc-htpasswd add --file %s NAME", path, path)
		case warning != "":
			a.Note("warning: %s", warning)
		}
		return passwords, nil
	}
	passwords, err := o.ReadPasswords()
	if err != nil {
		return err
	}
	o.Shared, o.Passwords, o.PasswordsKept = true, passwords, access.DefaultKeep
	if s := config.CredentialCacheTTLSecs; s != nil {
		o.PasswordsKept = time.Duration(*s) * time.Second
	}
	return nil
}

// checkProtection returns a usage error if the configuration sets a protection that this
// version does not support.
func checkProtection(c *cli.ServerConfig) error {
	for _, protection := range []struct {
		key string
		set bool
	}{
		{"https", c.HTTPS}, {"enforce_access_control", c.EnforceAccessControl},
	} {
		if protection.set {
			return cli.UsageErrorf("the configuration sets server.%s, which this version does not support; see `torc-slurm config show`", protection.key)
		}
	}
	return nil
}

// placeDatabase sets the paths of a server's database and endpoint file, or that the database
// is in memory. It returns an error if there is no usable folder.
func placeDatabase(ctx context.Context, a *cli.Factory, o *server.DaemonOptions, flags serveFlags) error {
	if !flags.onDemand && daemonlink.DatabaseName(a, flags.database) == daemonlink.InMemory {
		o.InMemory = true
		return nil
	}
	path := daemonlink.OwnDatabase(a)
	if !flags.onDemand {
		var err error
		if path, err = daemonlink.ServeDatabase(a, flags.database); err != nil {
			return err
		}
	}
	if store.OfTorc(ctx, path) {
		path += ".torc-slurm"
		o.Log.Warn("this is a database of torc, which has other tables; it is not touched, and another file is used", "path", path)
	}
	o.Database, o.EndpointPath = path, server.DatabaseEndpointPath(path)
	if path != daemonlink.OwnDatabase(a) {
		return nil
	}
	o.EndpointPath = server.EndpointPath(a.Home())
	if err := os.MkdirAll(a.Home(), 0o700); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "create the folder of your daemon: %v", err)
	}
	return nil
}

// minTokenLength is the minimum number of characters of a token. Shorter ones could be found
// by trying them out.
const minTokenLength = 16

// readToken returns the token in a file. If there is no file, it writes one with a new token.
// It returns an error if the file cannot be read or written, or the token is too short.
func readToken(path string) (string, error) {
	text, err := trustedfile.ReadSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		token := server.NewToken()
		if err := trustedfile.Write(path, []byte(token+"\n"), 0o600); err != nil {
			return "", workflow.Errorf(workflow.CodeForbidden, "--token-file: %v", err)
		}
		return token, nil
	}
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if n := len(token); n < minTokenLength {
		return "", cli.UsageErrorf("the token in --token-file %s has %d characters and could be guessed; use at least %d, or remove the file to get a new token", path, n, minTokenLength)
	}
	return token, nil
}
