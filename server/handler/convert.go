package handler

import (
	"context"
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Or returns what p points to, or a default.
func Or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// raw returns a free-form value for the domain: nil for null.
func raw(text json.RawMessage) json.RawMessage {
	if string(text) == "null" {
		return nil
	}
	return text
}

// Each converts the items of a slice.
func Each[T, W any](items []T, convert func(T) W) []W {
	out := make([]W, len(items))
	for i, item := range items {
		out[i] = convert(item)
	}
	return out
}

// same returns its argument, for rows whose API and domain types are the same.
func same[T any](row T) T { return row }

// by returns the caller of a request, for the verbs of package service.
func by[P, B any](r *rest.Request[P, B]) service.Caller { return service.Caller{User: r.User()} }

// IDParams is the path parameter of one row.
type IDParams struct {
	ID int64 `path:"id"`
}

// WorkflowParams is the query parameter that lists and bulk deletes need.
type WorkflowParams struct {
	WorkflowID int64 `query:"workflow_id"`
}

// WorkflowPageParams are the query parameters of a list without filters.
type WorkflowPageParams struct {
	WorkflowParams
	pageParams
}

// checkBulk returns an error for a bulk request that is empty, too long, about several
// workflows, or contains a duplicate name.
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

// ByID returns a handler that gets or deletes the row that the path names, and answers with
// it.
func ByID[T, W any](do func(context.Context, int64) (T, error), wire func(T) W) func(*rest.Request[IDParams, rest.None]) (W, error) {
	return func(r *rest.Request[IDParams, rest.None]) (W, error) {
		row, err := do(r.Context(), r.Params.ID)
		return wire(row), err
	}
}

// DeleteAll returns a handler that deletes rows of a workflow and answers with their number.
func DeleteAll(do func(context.Context, int64) (int64, error)) func(*rest.Request[WorkflowParams, rest.None]) (api.DeleteCount, error) {
	return func(r *rest.Request[WorkflowParams, rest.None]) (api.DeleteCount, error) {
		n, err := do(r.Context(), r.Params.WorkflowID)
		return api.DeleteCount{Count: n}, err
	}
}
