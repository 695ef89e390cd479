package sqlite

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func wantCode(t *testing.T, err error, want workflow.Code) {
	t.Helper()
	if got := workflow.CodeOf(err); got != want {
		t.Errorf("error %v has the code %q, want %q", err, got, want)
	}
}
