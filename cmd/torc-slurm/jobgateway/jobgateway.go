// Package jobgateway lets the jobs of a runner call the server without credentials
// of their own.
package jobgateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/gateway"
)

// Open lets the jobs of a runner call the server, without credentials of
// their own, until it is closed.
func Open(a *cli.Factory, o *runner.Options, forward func(*http.Request) (*http.Response, error)) (*gateway.Gateway, error) {
	jobs, err := gateway.Start(gateway.Options{WorkflowID: o.WorkflowID, Forward: forward, Log: o.Log})
	if err != nil {
		return nil, err
	}
	o.APIURL, o.Environ = jobs.URL(), nil
	for _, entry := range a.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(serverVariables, name) {
			o.Environ = append(o.Environ, entry)
		}
	}
	if file := jobs.TokenFile(); file != "" {
		o.Environ = append(o.Environ, "TORC_TOKEN_FILE="+file)
	}
	return jobs, nil
}

// serverVariables are how this program was told to reach a server. Jobs reach it
// by the gateway of their runner.
var serverVariables = []string{
	"TORC_TOKEN_FILE", "TORC_PASSWORD", "TORC_COOKIE_HEADER", "TORC_TLS_CA_CERT", "TORC_TLS_INSECURE",
}
