package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/torc-slurm/torc-slurm/store"
)

// alertCounter exports how many alerts of each kind there were. The database counts them,
// so that the count survives a restart of the daemon.
type alertCounter struct{ db *store.Store }

var alertsTotal = prometheus.NewDesc(namespace+"_alerts_total", "Raised alerts, by kind.", []string{"kind"}, nil)

// Describe implements prometheus.Collector.
func (alertCounter) Describe(ch chan<- *prometheus.Desc) { ch <- alertsTotal }

// Collect implements prometheus.Collector.
func (c alertCounter) Collect(ch chan<- prometheus.Metric) {
	counts, err := c.db.Alerts.Counts(context.Background())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(alertsTotal, err)
		return
	}
	for kind, n := range counts {
		ch <- prometheus.MustNewConstMetric(alertsTotal, prometheus.CounterValue, float64(n), string(kind))
	}
}
