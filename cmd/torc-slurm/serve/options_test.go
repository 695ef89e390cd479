package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/server"
)

// factory is one whose home is a folder of the test's own, with no Slurm. In its variables
// $DIR stands for the folder.
func factory(t *testing.T, variables ...string) *cli.Factory {
	t.Helper()
	dir := t.TempDir()
	a := cli.New(cli.Environment{
		Dir: dir, Environ: []string{"HOME=" + dir, "USER=ann", "TORC_FAKE_SCONTROL=/nonexistent/scontrol"}, Stdin: strings.NewReader(""),
		Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, Now: time.Now, StopSignals: func() {},
	}, nil)
	for _, v := range variables {
		a.Environ = append(a.Environ, strings.ReplaceAll(v, "$DIR", dir))
	}
	a.Config = cli.DefaultConfig()
	t.Cleanup(a.StopSignals)
	return a
}

// options are those of serve with flags; given are the names of flags that the user gave.
func options(t *testing.T, a *cli.Factory, flags serveFlags, given ...string) (server.DaemonOptions, error) {
	t.Helper()
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	set.Int("port", 0, "")
	for _, name := range given {
		if err := set.Set(name, "1"); err != nil {
			t.Fatal(err)
		}
	}
	return serveOptions(t.Context(), a, set, flags, slog.New(slog.DiscardHandler))
}

func TestServeRejects(t *testing.T) {
	write := func(a *cli.Factory, name, text string) string {
		path := filepath.Join(a.Dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name      string
		variables []string
		flags     serveFlags
		set       func(a *cli.Factory)
		want      string
	}{
		{name: "a port that is none", set: func(a *cli.Factory) { a.Config.Server.Port = 65536 }, want: "--port 65536: ports are numbers from 0 to 65535"},
		{name: "failpoints", variables: []string{"TORC_SLURM_FAILPOINTS=nonsense"}, want: "TORC_SLURM_FAILPOINTS: "},
		{name: "no number", variables: []string{"TORC_MAX_REQUEST_BODY_MB=0"}, want: `TORC_MAX_REQUEST_BODY_MB: "0" is not a positive whole number`},
		{name: "snapshots", variables: []string{"TORC_SERVER_SNAPSHOT_KEEP=none"}, want: "TORC_SERVER_SNAPSHOT_KEEP"},
		{name: "no users", flags: serveFlags{requireAuth: true}, want: "--require-auth needs --auth-file"},
		{name: "no file of users", flags: serveFlags{authFile: "none"}, want: "authentication file: "},
		{name: "a file without users", variables: []string{"TORC_AUTH_FILE=$DIR/users"}, set: func(a *cli.Factory) { write(a, "users", "# nobody\n") }, want: "has no users"},
		{name: "a token that can be guessed", flags: serveFlags{tokenFile: "token"}, set: func(a *cli.Factory) { write(a, "token", "secret\n") }, want: "has 6 characters and could be guessed; use at least 16"},
		{name: "a token that others can read", flags: serveFlags{tokenFile: "token"}, want: "--token-file: ", set: func(a *cli.Factory) {
			if err := os.Chmod(write(a, "token", "0123456789abcdef"), 0o644); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a protection that is not there", set: func(a *cli.Factory) { a.Config.Server.HTTPS = true }, want: "sets server.https, which this version does not support"},
		{name: "another protection", set: func(a *cli.Factory) { a.Config.Server.EnforceAccessControl = true }, want: "sets server.enforce_access_control"},
	} {
		a := factory(t, tt.variables...)
		if tt.set != nil {
			tt.set(a)
		}
		if o, err := options(t, a, tt.flags); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; shared %v", tt.name, err, o.Shared)
		}
	}
}

// TestServeOptions: flags go before the configuration, and a daemon that is started on
// demand takes none of what is said of servers that others share.
func TestServeOptions(t *testing.T) {
	a := factory(t, "TORC_SERVER_SNAPSHOT_PATH=/snap.db", "TORC_MAX_REQUEST_BODY_MB=3")
	a.Config.Server.Host, a.Config.Server.Port, a.Config.Server.AllowedHosts, a.Config.Server.NodeHost = "0.0.0.0", 8443, []string{"configured"}, "nodes"
	a.Config.Server.IdleTimeoutSecs = 90
	o, err := options(t, a, serveFlags{allowed: []string{"named"}})
	if err != nil {
		t.Fatal(err)
	}
	if o.Host != "0.0.0.0" || o.Port != 8443 || strings.Join(o.AllowedHosts, " ") != "named configured" || o.Nodes.Host != "nodes" || o.IdleTimeout != 0 || o.Shared {
		t.Errorf("of the configuration: %+v", o)
	}
	if o.Snapshots.Path != "/snap.db" || o.MaxBulkBody != 3<<20 || o.User != "ann" {
		t.Errorf("of variables: %+v, %d", o.Snapshots, o.MaxBulkBody)
	}
	if o, err = options(t, a, serveFlags{host: "127.0.0.1", port: 1, nodeHost: "mine"}, "port"); err != nil || o.Host != "127.0.0.1" || o.Port != 1 || o.Nodes.Host != "mine" {
		t.Errorf("of flags: %s, %d, %s, %v", o.Host, o.Port, o.Nodes.Host, err)
	}
	o, err = options(t, a, serveFlags{onDemand: true})
	if err != nil || o.Host != "" || o.Port != 0 || o.Shared || o.IdleTimeout != 90*time.Second {
		t.Errorf("on demand: %q, %d, %v, %v, %v", o.Host, o.Port, o.Shared, o.IdleTimeout, err)
	}
	a.Config.Server.IdleTimeoutSecs = 0
	if o, err = options(t, a, serveFlags{onDemand: true}); err != nil || o.IdleTimeout != idleTimeout {
		t.Errorf("on demand: %v, %v", o.IdleTimeout, err)
	}
}

// TestServeToken: a token that is not there is made, and taken by the next server.
func TestServeToken(t *testing.T) {
	a := factory(t)
	first, err := options(t, a, serveFlags{tokenFile: "token"})
	if err != nil || !first.Shared || len(first.Token) < minTokenLength {
		t.Fatalf("%v, %q, %v", first.Shared, first.Token, err)
	}
	if info, err := os.Stat(filepath.Join(a.Dir, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its file: %v, %v", info.Mode(), err)
	}
	if second, err := options(t, a, serveFlags{tokenFile: "token"}); err != nil || second.Token != first.Token {
		t.Errorf("the next one: %q, %v", second.Token, err)
	}
}

// TestPlaceDatabase: where the database is says where the endpoint file is.
func TestPlaceDatabase(t *testing.T) {
	a := factory(t, "DATABASE_URL=there.db")
	own, there := filepath.Join(a.Home(), "torc.db"), filepath.Join(a.Dir, "there.db")
	for _, tt := range []struct {
		name               string
		flags              serveFlags
		database, endpoint string
	}{
		{"of a variable", serveFlags{}, there, server.DatabaseEndpointPath(there)},
		{"of a flag", serveFlags{database: own}, own, server.EndpointPath(a.Home())},
		{"on demand", serveFlags{onDemand: true}, own, server.EndpointPath(a.Home())},
		{"in memory", serveFlags{database: ":memory:"}, "", ""},
	} {
		o := server.DaemonOptions{Log: slog.New(slog.DiscardHandler)}
		if err := placeDatabase(t.Context(), a, &o, tt.flags); err != nil || o.Database != tt.database || o.EndpointPath != tt.endpoint || o.InMemory != (tt.database == "") {
			t.Errorf("%s: %s, %s, %v", tt.name, o.Database, o.EndpointPath, err)
		}
	}
}
