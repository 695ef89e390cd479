// Package daemonlink connects commands to their server: the one that was named, one within
// this process, or the user's own daemon, which it starts if it does not run.
package daemonlink

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server"
)

// Options returns the options of a daemon within this process.
type Options = func(a *cli.Factory, log *slog.Logger) (server.DaemonOptions, error)

// Dialer returns a function that connects to the server: to the one that was named, to one
// within this process, which has these options, or to the user's own.
func Dialer(options Options) func(ctx context.Context, a *cli.Factory, start bool) (*cli.Connection, error) {
	return func(ctx context.Context, a *cli.Factory, start bool) (*cli.Connection, error) {
		return dial(ctx, a, start, options)
	}
}

func dial(ctx context.Context, a *cli.Factory, start bool, options Options) (*cli.Connection, error) {
	address := cli.FirstOf(a.Flags.URL, a.Getenv("TORC_API_URL"), a.Config.Client.APIURL)
	switch {
	case a.Flags.Standalone && a.Flags.URL != "":
		return nil, cli.UsageErrorf("--standalone and --url name different servers; give one of them")
	case a.Flags.Standalone:
		return dialStandalone(ctx, a, start, options)
	case address != "":
		return DialURL(a, address)
	}
	if err := a.Config.RefuseWithheld("client.api_url"); err != nil {
		return nil, err
	}
	return dialOwn(ctx, a, start)
}

// DialURL connects to the server with a URL. It asks for a password if the flags say so.
func DialURL(a *cli.Factory, address string) (*cli.Connection, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, cli.UsageErrorf("%q is not the URL of a server, such as http://localhost:8080%s", address, api.BasePath)
	}
	if strings.Trim(u.Path, "/") == "" {
		u = u.JoinPath(api.BasePath)
	}
	address = u.String() // the scheme is in lower case now
	options := client.Options{
		URL: address, User: a.User(), Password: cli.FirstOf(a.Flags.Password, a.Getenv("TORC_PASSWORD")),
		Cookie:   cli.FirstOf(a.Flags.Cookie, a.Getenv("TORC_COOKIE_HEADER")),
		CACert:   cli.FirstOf(a.Flags.TLSCACert, a.Getenv("TORC_TLS_CA_CERT"), a.Config.Client.TLS.CACert),
		Insecure: tlsInsecure(a),
		Log:      a.Log,
	}
	if a.Flags.PromptPassword {
		if options.Password, err = AskPassword(a, options.User); err != nil {
			return nil, err
		}
	}
	c := &cli.Connection{URL: address, Disconnect: func() error { return nil }}
	if options.Password == "" {
		if options.TokenFile, options.Token, err = tokenFor(a, address); err != nil {
			return nil, err
		}
	}
	if err := c.Open(options); err != nil {
		return nil, cli.UsageErrorf("%v", err)
	}
	return c, nil
}

// tokenFor returns the token of a server by its URL, from the token file that jobs get, or
// from the endpoint file of the user's own daemon.
func tokenFor(a *cli.Factory, address string) (file, token string, err error) {
	if file = a.Getenv("TORC_TOKEN_FILE"); file != "" {
		text, err := trustedfile.ReadSecret(file)
		if err != nil {
			return "", "", fmt.Errorf("read the token of the server: %w", err)
		}
		return file, strings.TrimSpace(string(text)), nil
	}
	path := server.EndpointPath(a.Home())
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

func tlsInsecure(a *cli.Factory) bool {
	fromEnv, _ := strconv.ParseBool(a.Getenv("TORC_TLS_INSECURE"))
	return a.Flags.TLSInsecure || fromEnv || a.Config.Client.TLS.Insecure
}

// AskPassword asks for a password on the terminal, without echo.
func AskPassword(a *cli.Factory, user string) (string, error) {
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
