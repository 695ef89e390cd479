package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// connection is a way to a server.
type connection struct {
	*client.Client
	probe  *client.Client // the same with few repetitions, for a first word
	URL    string         // of the API on TCP, for jobs
	CACert string         // file with its certificate, for jobs; empty if it has none of its own
	close  func() error
	// keep, if not nil, sees to it that the server is there until the context
	// ends; whoever depends on that for long runs it.
	keep func(context.Context)
}

// open makes the clients of a connection.
func (c *connection) open(o client.Options) (err error) {
	if c.Client, err = client.New(o); err != nil {
		return err
	}
	o.Retries = 1
	c.probe, err = client.New(o)
	return err
}

// closeIdle ends the network connections that no call needs.
func (c *connection) closeIdle() {
	c.Close()
	c.probe.Close()
}

// defaultDatabase is the database of --standalone.
const defaultDatabase = "torc_output/torc.db"

// connect returns the way to the server: the one that was named, one within
// this process, or the user's own, which is started if it does not run. The
// connection is kept for the life of the program.
func (a *app) connect(ctx context.Context) (*connection, error) {
	if a.connected != nil {
		return a.connected, nil
	}
	c, err := a.dial(ctx, true)
	if err != nil {
		return nil, err
	}
	a.connected = c
	return c, a.checkVersion(ctx, c)
}

// connectRunning is connect, but it starts nothing: an error if no server
// runs.
func (a *app) connectRunning(ctx context.Context) (*connection, error) {
	if a.connected != nil {
		return a.connected, nil
	}
	c, err := a.dial(ctx, false)
	a.connected = c
	return c, err
}

func (a *app) dial(ctx context.Context, start bool) (*connection, error) {
	address := firstOf(a.flags.url, a.getenv("TORC_API_URL"), a.config.Client.APIURL)
	switch {
	case a.flags.standalone && a.flags.url != "":
		return nil, usageErrorf("--standalone is a server of its own, --url another one; give one of them")
	case a.flags.standalone:
		return a.dialStandalone(ctx, start)
	case address != "":
		return a.dialURL(address)
	}
	if err := a.config.refuseWithheld("client.api_url"); err != nil {
		return nil, err
	}
	return a.dialOwn(ctx, start)
}

// dialURL connects to a server that was named.
func (a *app) dialURL(address string) (*connection, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageErrorf("%q is no URL of a server, such as http://localhost:8080%s", address, api.BasePath)
	}
	if strings.Trim(u.Path, "/") == "" {
		u = u.JoinPath(api.BasePath)
	}
	address = u.String() // with the scheme in lower case
	options := client.Options{
		URL: address, User: a.user(), Password: firstOf(a.flags.password, a.getenv("TORC_PASSWORD")),
		Cookie:   firstOf(a.flags.cookie, a.getenv("TORC_COOKIE_HEADER")),
		CACert:   firstOf(a.flags.tlsCACert, a.getenv("TORC_TLS_CA_CERT"), a.config.Client.TLS.CACert),
		Insecure: a.tlsInsecure(),
		Log:      a.log,
	}
	if a.flags.promptPassword {
		if options.Password, err = a.askPassword(options.User); err != nil {
			return nil, err
		}
	}
	c := &connection{URL: address, close: func() error { return nil }}
	if options.Password == "" {
		if options.TokenFile, options.Token, err = a.tokenFor(address); err != nil {
			return nil, err
		}
	}
	if err := c.open(options); err != nil {
		return nil, usageErrorf("%v", err)
	}
	return c, nil
}

// tokenFor finds the token of a server by its URL: in the file that a job is
// told of, or in the endpoint file of the user's own daemon.
func (a *app) tokenFor(address string) (file, token string, err error) {
	if file = a.getenv("TORC_TOKEN_FILE"); file != "" {
		text, err := trustedfile.ReadSecret(file)
		if err != nil {
			return "", "", fmt.Errorf("read the token of the server: %w", err)
		}
		return file, strings.TrimSpace(string(text)), nil
	}
	path := server.EndpointPath(a.home())
	own, err := server.ReadEndpoint(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", nil
	case err != nil:
		return "", "", err
	case own.Token == "" || !slices.Contains([]string{strings.TrimRight(own.URL, "/"), strings.TrimRight(own.NodeURL, "/")}, strings.TrimRight(address, "/")):
		return "", "", nil
	}
	return server.TokenPath(path), own.Token, nil
}

func (a *app) tlsInsecure() bool {
	fromEnv, _ := strconv.ParseBool(a.getenv("TORC_TLS_INSECURE"))
	return a.flags.tlsInsecure || fromEnv || a.config.Client.TLS.Insecure
}

// askPassword asks on the terminal, without showing what is typed.
func (a *app) askPassword(user string) (string, error) {
	fmt.Fprintf(a.Stderr, "Password for %s: ", user)
	file, ok := a.Stdin.(*os.File)
	if !ok || !a.StdinTerminal {
		line, err := bufio.NewReader(a.Stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	text, err := term.ReadPassword(int(file.Fd()))
	fmt.Fprintln(a.Stderr)
	return string(text), err
}

// database is the path of the database of --standalone.
func (a *app) database() string {
	return filepath.Clean(a.path(firstOf(a.flags.database, defaultDatabase)))
}

// checkVersion compares the server's version of the API with ours. A server
// that cannot be reached is found out here, before a command repeats its
// requests.
func (a *app) checkVersion(ctx context.Context, c *connection) error {
	info, err := c.probe.Version(ctx)
	switch {
	case client.IsUnreachable(err), errors.Is(err, context.Canceled):
		return err
	case err != nil:
		a.log.Debug("could not check the version of the server", "error", err)
		return nil
	case a.flags.skipVersionCheck:
		return nil
	}
	switch client.CompareAPIVersion(info.APIVersion) {
	case client.Incompatible:
		return &exitError{exitFailed, workflow.Errorf(workflow.CodeUnsupported,
			"the server has version %s of the API, this program %s", info.APIVersion, client.APIVersion).
			WithHint("use a program of the same major version, or --skip-version-check")}
	case client.OtherMinor:
		a.note("warning: the server has version %s of the API, this program %s", info.APIVersion, client.APIVersion)
	}
	return nil
}
