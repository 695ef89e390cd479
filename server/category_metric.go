package server

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxCategories limits the values of the label of failedByCategory, since users
	// choose the names.
	maxCategories   = 100
	otherCategories = "other"
)

// failedByCategory counts failed attempts by category. After the first maxCategories
// names since the start of the daemon, all new ones are counted together.
type failedByCategory struct {
	*prometheus.CounterVec

	mu    sync.Mutex
	known map[string]bool
}

func newFailedByCategory() *failedByCategory {
	return &failedByCategory{known: map[string]bool{}, CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "categorized_failures_total", Help: "Failed attempts with a failure category, by category; \"other\" counts all names after the first 100.",
	}, []string{"category"})}
}

// failed counts one attempt.
func (f *failedByCategory) failed(category string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.known[category]:
	case len(f.known) >= maxCategories:
		category = otherCategories
	default:
		f.known[category] = true
	}
	f.WithLabelValues(category).Inc()
}
