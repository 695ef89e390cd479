package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestExitStatus(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("a bug"), 1},
		{Silent(1), 1},
		{UsageErrorf("x"), 2},
		{fmt.Errorf("run: %w", UsageErrorf("x")), 2},
		{&client.APIError{Status: 404}, 3},
		{&client.APIError{Status: 400}, 2},
		{&client.APIError{Status: 401}, 5},
		{&client.APIError{Status: 409}, 5},
		{&client.APIError{Status: 422}, 5},
		{&client.APIError{Status: 500}, 1},
		{&client.APIError{Status: 503}, 4},
		{workflow.Errorf(workflow.CodeNotFound, "x"), 3},
		{workflow.Errorf(workflow.CodeUnavailable, "x"), 4},
		{workflow.Errorf(workflow.CodeConflict, "x"), 5},
		{workflow.Errorf(workflow.CodeCorrupt, "x"), 1},
		{fmt.Errorf("load: %w", spec.Errors{{Message: "x"}}), 6},
		{fmt.Errorf("get: %w", context.Canceled), 130},
	} {
		if got := ExitStatus(tc.err); got != tc.want {
			t.Errorf("%v: %d, want %d", tc.err, got, tc.want)
		}
	}
}
