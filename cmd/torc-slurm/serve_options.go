package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/internal/failpoint"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/socket"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// daemonOptions are those of every daemon, wherever it runs.
func (a *app) daemonOptions(log *slog.Logger) (server.DaemonOptions, error) {
	points, err := failpoint.Parse(a.getenv("TORC_SLURM_FAILPOINTS"))
	if err != nil {
		return server.DaemonOptions{}, usageErrorf("TORC_SLURM_FAILPOINTS: %v", err)
	}
	o := server.DaemonOptions{
		User: a.user(), GitHash: version, Log: log, Cluster: a.clusterOptions(), Lease: seconds(a.config.Server.LeaseSecs),
		Sockets: socket.Folders{Runtime: a.getenv("XDG_RUNTIME_DIR"), State: a.home()},
		EndLeftovers: func(dir string) error {
			_, err := runner.EndLeftovers(dir, log)
			return err
		},
		Spooled: spooled,
	}
	if finder, err := a.siteFinder(); err != nil {
		log.Warn("what files say of the site is not used", "error", err)
	} else {
		o.Site = finder.Described()
	}
	if o.Notify, err = a.config.Server.Notify.options(); err != nil {
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
		text := a.getenv(n.name)
		if text == "" {
			continue
		}
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil || v < 1 {
			return o, usageErrorf("%s: %q is not a whole number from 1", n.name, text)
		}
		n.set(v)
	}
	return o, nil
}

// serveOptions are those of serve.
func (a *app) serveOptions(ctx context.Context, set *pflag.FlagSet, flags serveFlags, log *slog.Logger) (server.DaemonOptions, error) {
	o, err := a.daemonOptions(log)
	if err != nil {
		return o, err
	}
	if !flags.onDemand {
		if a.dotEnvRefusal != nil {
			return o, a.dotEnvRefusal
		}
		if err := a.config.refuseWithheld("server."); err != nil {
			return o, err
		}
	}
	if err := a.placeDatabase(ctx, &o, flags); err != nil {
		return o, err
	}
	if o.EndpointPath != "" {
		o.StartLogin = a.startLogin(o.EndpointPath)
	}
	o.AllowedHosts = slices.Concat(flags.allowed, a.config.Server.AllowedHosts)
	o.Nodes.Host, o.Nodes.Towards = firstOf(flags.nodeHost, a.config.Server.NodeHost), flags.towards
	if flags.onDemand {
		o.IdleTimeout = idleTimeout
		if s := a.config.Server.IdleTimeoutSecs; s > 0 {
			o.IdleTimeout = seconds(s)
		}
		return o, nil
	}
	config := a.config.Server
	if err := config.checkProtection(); err != nil {
		return o, err
	}
	o.Snapshots.Path = firstOf(a.getenv("TORC_SERVER_SNAPSHOT_PATH"), "./torc-server-snapshot.db")
	if o.Snapshots.Keep, err = a.snapshotsKept(); err != nil {
		return o, err
	}
	o.Host = firstOf(flags.host, config.URL, config.Host)
	o.Port = flags.port
	if !set.Changed("port") && config.Port != 0 {
		o.Port = config.Port
	}
	if o.Port < 0 || o.Port > 65535 {
		return o, usageErrorf("--port %d: ports are numbers from 0 to 65535", o.Port)
	}
	if err := a.shareWithPasswords(&o, flags); err != nil {
		return o, err
	}
	if flags.tokenFile == "" {
		return o, nil
	}
	o.Shared = true
	o.Token, err = readToken(a.path(flags.tokenFile))
	return o, err
}

// shareWithPasswords lets in the users of an authentication file, if there is one.
func (a *app) shareWithPasswords(o *server.DaemonOptions, flags serveFlags) error {
	config := a.config.Server
	path := firstOf(flags.authFile, a.getenv("TORC_AUTH_FILE"), config.AuthFile)
	if path == "" {
		if flags.requireAuth || config.RequireAuth {
			return usageErrorf("--require-auth needs --auth-file")
		}
		return nil
	}
	o.ReadPasswords = func() (*access.Passwords, error) {
		passwords, warning, err := access.ReadPasswords(a.path(path))
		switch {
		case err != nil:
			return nil, err
		case len(passwords.Users()) == 0:
			return nil, usageErrorf("authentication file %s has no users; add them with torc-htpasswd add --file %s NAME", path, path)
		case warning != "":
			a.note("warning: %s", warning)
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

// checkProtection refuses a configuration that asks for a protection that this
// version does not have.
func (c *ServerConfig) checkProtection() error {
	for _, wish := range []struct {
		key    string
		wished bool
	}{
		{"https", c.HTTPS}, {"enforce_access_control", c.EnforceAccessControl},
	} {
		if wish.wished {
			return usageErrorf("the configuration sets server.%s, which this version does not have; see `torc-slurm config show`", wish.key)
		}
	}
	return nil
}

// inMemory is the name of a database in memory.
const inMemory = ":memory:"

// placeDatabase says where a server has its database and its endpoint file.
func (a *app) placeDatabase(ctx context.Context, o *server.DaemonOptions, flags serveFlags) error {
	if !flags.onDemand && a.databaseName(flags) == inMemory {
		o.InMemory = true
		return nil
	}
	path, err := a.serveDatabase(flags)
	if err != nil {
		return err
	}
	if store.OfTorc(ctx, path) {
		path += ".torc-slurm"
		o.Log.Warn("the database is one of torc, whose tables are others: it is left alone, and another file is used", "path", path)
	}
	o.Database, o.EndpointPath = path, server.DatabaseEndpointPath(path)
	if path != filepath.Join(a.home(), "torc.db") {
		return nil
	}
	o.EndpointPath = server.EndpointPath(a.home())
	if err := os.MkdirAll(a.home(), 0o700); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "make the folder of your daemon: %v", err)
	}
	return nil
}

// serveDatabase is the file of the database.
func (a *app) serveDatabase(flags serveFlags) (string, error) {
	if flags.onDemand {
		return filepath.Join(a.home(), "torc.db"), nil
	}
	switch name := a.databaseName(flags); name {
	case "":
		return filepath.Join(a.home(), "torc.db"), nil
	case inMemory:
		return "", usageErrorf("a database in memory is not there for other programs; name a file, for example a snapshot")
	default:
		return a.path(name), nil
	}
}

// databaseName is what flag, variable or configuration call the database; empty
// if they say nothing.
func (a *app) databaseName(flags serveFlags) string {
	name := firstOf(flags.database, a.getenv("DATABASE_URL"), a.config.Server.Database)
	name = strings.TrimPrefix(name, "sqlite://")
	name = strings.TrimPrefix(name, "sqlite:")
	name, options, _ := strings.Cut(name, "?") // of another program
	if name == "file::memory:" || strings.Contains(options, "mode=memory") {
		return inMemory
	}
	return name
}

// leastToken is how many characters a token has at least: as many random ones
// cannot be guessed, and fewer may be tried out by whoever reaches the server.
const leastToken = 16

// readToken reads the token of a server; a new one is made if there is none.
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
	if n := len(token); n < leastToken {
		return "", usageErrorf("--token-file %s has a token of %d characters, which can be guessed: it needs %d at least; remove the file to have one made", path, n, leastToken)
	}
	return token, nil
}
