package handler

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

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
