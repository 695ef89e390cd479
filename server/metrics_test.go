package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetricsAreWellNamed(t *testing.T) {
	a := newAPI(t)
	a.send("GET", "/ping", "")
	a.send("GET", "/files/1", "")
	a.Metrics.Claimed("turn", 3)
	a.Metrics.AttemptEnded("ok")
	problems, err := testutil.GatherAndLint(a.Metrics.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMetricsCountRequestsByRoute(t *testing.T) {
	a := newAPI(t)
	a.send("GET", "/files/1", "")
	a.send("GET", "/files/2", "")
	a.send("GET", "/no/such/path", "")
	got := a.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`torc_slurm_http_requests_total{class="4xx",method="GET",route="/files/{id}"} 2`,
		`torc_slurm_http_requests_total{class="4xx",method="none",route="none"} 1`,
		`torc_slurm_database_size_bytes`,
		`torc_slurm_runners 0`,
		`torc_slurm_commits_total`,
	} {
		if !strings.Contains(got.text, line) {
			t.Errorf("the metrics do not contain %s", line)
		}
	}
}
