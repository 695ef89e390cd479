package server

import (
	"context"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/connlimit"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Metrics counts what the daemon does, for GET /metrics.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	streams  prometheus.Gauge
	claims   *prometheus.CounterVec
	attempts *prometheus.CounterVec
	failures *failedByCategory
	closed   *prometheus.CounterVec
	logins   prometheus.Counter
}

const namespace = "torc_slurm"

// NewMetrics returns metrics in a registry of their own.
func NewMetrics(db *store.Store) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total", Help: "Requests by route, method and class of status.",
		}, []string{"route", "method", "class"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds", Help: "Time to answer, by route.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
		}, []string{"route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "event_streams", Help: "Clients that read an event stream.",
		}),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "claimed_jobs_total", Help: "Jobs that were granted to runners, by kind of call.",
		}, []string{"way"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "attempts_finished_total", Help: "Attempts that ended, by cause.",
		}, []string{"cause"}),
		failures: newFailedByCategory(),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "connections_closed_total", Help: "Connections that were closed because of a limit, by reason.",
		}, []string{"reason"}),
		logins: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "failed_logins_total", Help: "Requests that were rejected because of their credentials, or because they had none.",
		}),
	}
	size := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "database_size_bytes", Help: "Size of the database with its write-ahead log.",
	}, func() float64 { return databaseSize(db.Path()) })
	commits := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Name: "commits_total", Help: "Transactions that were committed.",
	}, func() float64 { n, _ := db.Commits(); return float64(n) })
	useCases := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Name: "use_cases_total", Help: "Use cases in these transactions; divided by their number, the size of a group.",
	}, func() float64 { _, n := db.Commits(); return float64(n) })
	runners := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "runners", Help: "Runners that have not deregistered.",
	}, func() float64 { return liveRunners(db) })
	m.registry.MustRegister(alertCounter{db})
	m.registry.MustRegister(m.requests, m.latency, m.streams, m.claims, m.attempts, m.failures, m.closed, m.logins, commits, useCases, runners, size,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// connectionClosed counts a connection that was closed for a limit.
func (m *Metrics) connectionClosed(_ net.Addr, why connlimit.Reason) {
	m.closed.WithLabelValues(string(why)).Inc()
}

// Claimed counts granted jobs: by a "turn" of our runners or by a "call" of torc's.
func (m *Metrics) Claimed(way string, jobs int) {
	m.claims.WithLabelValues(way).Add(float64(jobs))
}

// AttemptEnded counts an ended attempt by its cause.
func (m *Metrics) AttemptEnded(cause string) {
	m.attempts.WithLabelValues(cause).Inc()
}

// Turn counts what the answer to a turn contains.
func (m *Metrics) Turn(t *lease.TurnResponse) {
	m.Claimed("turn", len(t.Grants))
	for _, r := range t.Results {
		if r.Outcome == lease.Accepted && r.Cause != "" {
			m.AttemptEnded(string(r.Cause))
			if r.Category != "" {
				m.failures.failed(r.Category)
			}
		}
	}
}

// StreamOpened counts a client that reads an event stream, until it calls closed.
func (m *Metrics) StreamOpened() (closed func()) {
	m.streams.Inc()
	return m.streams.Dec
}

// request counts one request. The pattern is the mux's; it is empty for an unknown path.
func (m *Metrics) request(pattern, method string, status int, took time.Duration) {
	_, route, _ := strings.Cut(pattern, " ")
	if route == "" {
		route, method = "none", "none" // texts of the client must not become labels
	}
	route = strings.TrimPrefix(route, api.BasePath)
	m.requests.WithLabelValues(route, method, strconv.Itoa(status/100)+"xx").Inc()
	m.latency.WithLabelValues(route).Observe(took.Seconds())
}

func databaseSize(path string) float64 {
	total := int64(0)
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return float64(total)
}

// liveRunners returns the number of runners; NaN if the database cannot be read.
func liveRunners(db *store.Store) float64 {
	runners, err := db.Runners.Live(context.Background())
	if err != nil {
		return math.NaN()
	}
	return float64(len(runners))
}
