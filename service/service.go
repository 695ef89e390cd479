// Package service has the operations that all surfaces share. Each is a method that takes
// the caller and the request, and returns what was done or, in a dry run, what would be.
// It knows nothing of HTTP, terminals and SQL; requests and answers are types of package
// api. It runs in the daemon.
package service

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Service has the operations as methods.
type Service struct {
	Store *store.Store
	Now   func() time.Time
	Slurm Slurm // nil without Slurm
	// Site returns what the cluster offers; nil without Slurm.
	Site SiteFunc
	// Cluster requests allocations, and Scheduler those of submitted workflows; nil where
	// there is no Slurm. UseSite notes that a request is about to use what is known of the
	// cluster.
	Cluster   Submitter
	Scheduler *scheduler.Scheduler
	UseSite   func()
	// Told is the text of an error that is part of an answer.
	Told func(context.Context, error) string
}

// SiteFunc returns what the cluster offers, or why that is not known.
type SiteFunc func(ctx context.Context) (*siteconfigs.Site, error)

// Slurm is the part of *slurm.Client that operations use.
type Slurm interface {
	scheduler.Prospects
	// Accounting returns the accounting records of jobs.
	Accounting(ctx context.Context, q slurm.AccountingQuery) (slurm.Accounting, error)
}

// ErrNoSlurm is why nothing can be asked of Slurm.
var ErrNoSlurm = workflow.Errorf(workflow.CodeConflict, "the daemon runs on a host without Slurm").
	WithHint("start it on a login node of the cluster, where sbatch is on the PATH")

// Caller is who makes a request. Events have the user's name.
type Caller struct {
	User string
}

// all returns all pages of a list of the store.
func all[T any](list func(page store.Page) ([]T, int64, error)) ([]T, error) {
	var items []T
	for {
		page, total, err := list(store.Page{Offset: int64(len(items)), Limit: api.MaxLimit})
		if err != nil {
			return nil, err
		}
		items = append(items, page...)
		if len(page) == 0 || int64(len(items)) >= total {
			return items, nil
		}
	}
}

// each maps a slice.
func each[T, W any](items []T, convert func(T) W) []W {
	out := make([]W, len(items))
	for i, item := range items {
		out[i] = convert(item)
	}
	return out
}
