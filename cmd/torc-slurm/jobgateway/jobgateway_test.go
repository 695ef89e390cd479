package jobgateway

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/runner"
)

// TestOpen: jobs are told of the gateway alone; how this program reaches the server, with
// which password, stays its own.
func TestOpen(t *testing.T) {
	a := &cli.Factory{Environment: cli.Environment{Environ: []string{
		"PATH=/bin", "TORC_PASSWORD=secret", "TORC_TOKEN_FILE=/home/ann/token", "TORC_COOKIE_HEADER=c", "TORC_TLS_CA_CERT=/ca", "TORC_TLS_INSECURE=1", "TORC_JOB_ID=3", "EMPTY",
	}}}
	o := runner.Options{WorkflowID: 12, APIURL: "http://login1:8080", Log: slog.New(slog.DiscardHandler)}
	g, err := Open(a, &o, func(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed })
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if o.APIURL != g.URL() || o.APIURL == "http://login1:8080" {
		t.Errorf("jobs call %s", o.APIURL)
	}
	token := ""
	others := slices.DeleteFunc(slices.Clone(o.Environ), func(entry string) bool {
		value, ok := strings.CutPrefix(entry, "TORC_TOKEN_FILE=")
		if ok {
			token = value
		}
		return ok
	})
	if want := []string{"PATH=/bin", "TORC_JOB_ID=3", "EMPTY"}; !slices.Equal(others, want) {
		t.Errorf("jobs inherit %q", others)
	}
	if token != g.TokenFile() {
		t.Errorf("their token is in %q, that of the gateway in %q", token, g.TokenFile())
	}
}
