package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestMetricsAreWellNamed(t *testing.T) {
	a := newAPI(t)
	a.send("GET", "/ping", "")
	a.send("GET", "/files/1", "")
	a.Metrics.Claimed("turn", 3)
	a.Metrics.AttemptEnded("ok")
	a.Metrics.failures.failed("gpu")
	problems, err := testutil.GatherAndLint(a.Metrics.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestMetricsBoundCategories: whatever names users give their failures, the number of
// time series is limited, and each failure is in one.
func TestMetricsBoundCategories(t *testing.T) {
	a := newAPI(t)
	turn := lease.TurnResponse{Results: []lease.ReportResult{
		{Outcome: lease.Accepted, Cause: workflow.CauseExit, Category: "gpu"}, {Outcome: lease.Accepted, Cause: workflow.CauseExit},
		{Outcome: lease.Duplicate, Cause: workflow.CauseExit, Category: "gpu"}}}
	a.Metrics.Turn(&turn)
	for i := range 3 * maxCategories {
		a.Metrics.failures.failed(fmt.Sprint("c", i))
	}
	a.Metrics.Turn(&turn)
	if n := testutil.CollectAndCount(a.Metrics.failures); n != maxCategories+1 {
		t.Errorf("%d time series", n)
	}
	for category, want := range map[string]float64{"gpu": 2, "c98": 1, otherCategories: 2*maxCategories + 1} {
		if got := testutil.ToFloat64(a.Metrics.failures.WithLabelValues(category)); got != want {
			t.Errorf("%s: %v, want %v", category, got, want)
		}
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
