package server

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// or returns what p points to, or a default.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// raw is a free-form value as the domain has it: nil for null.
func raw(text json.RawMessage) json.RawMessage {
	if string(text) == "null" {
		return nil
	}
	return text
}

// each maps a slice.
func each[T, W any](items []T, convert func(T) W) []W {
	out := make([]W, len(items))
	for i, item := range items {
		out[i] = convert(item)
	}
	return out
}

// idParams is the path parameter of one row.
type idParams struct {
	ID int64 `path:"id"`
}

// workflowParams is the query parameter that lists and bulk deletes need.
type workflowParams struct {
	WorkflowID int64 `query:"workflow_id"`
}

// workflowPageParams are the query parameters of a list without filters.
type workflowPageParams struct {
	workflowParams
	pageParams
}

// checkBulk refuses a bulk request that is empty, too long, about several
// workflows, or that names something twice.
func checkBulk[T any](what string, items []T, key func(T) (workflowID int64, name string)) error {
	switch n := len(items); {
	case n == 0:
		return workflow.Errorf(workflow.CodeInvalid, "the list of %s is empty", what)
	case n > api.MaxLimit:
		return workflow.Errorf(workflow.CodeInvalid, "the list of %s has %d entries; at most %d are accepted at once", what, n, api.MaxLimit)
	}
	first, _ := key(items[0])
	seen := make(map[string]struct{}, len(items))
	for _, item := range items {
		id, name := key(item)
		if id != first {
			return workflow.Errorf(workflow.CodeInvalid, "all %s must belong to the same workflow, not to %d and %d", what, first, id)
		}
		if _, twice := seen[name]; twice {
			return workflow.Errorf(workflow.CodeInvalid, "duplicate name in the list of %s: %q", what, name)
		}
		seen[name] = struct{}{}
	}
	return nil
}
