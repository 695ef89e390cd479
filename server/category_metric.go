package server

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxCategories bounds the label of failedByCategory: the names are users' own.
	maxCategories   = 100
	otherCategories = "other"
)

// failedByCategory counts attempts that failed, by category. After the first
// maxCategories names since the daemon started, all new ones are counted together.
type failedByCategory struct {
	*prometheus.CounterVec

	mu    sync.Mutex
	known map[string]bool
}

func newFailedByCategory() *failedByCategory {
	return &failedByCategory{known: map[string]bool{}, CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "categorized_failures_total", Help: "Failed attempts that a failure category was found for, by category; \"other\" is what came after the first 100 names.",
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
