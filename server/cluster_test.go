package server

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"
	"testing"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// TestSubmitWithoutAWayBack: allocations that runners could not use are not requested.
func TestSubmitWithoutAWayBack(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) {
		o.Database, o.EndpointPath, o.InMemory = "", "", true
		o.Cluster.Slurm = slurm.New(slurm.Options{Executor: nobody{t}})
	})
	for _, dir := range []string{"", "relative", "/absolute"} {
		_, err := d.cluster.Submit(t.Context(), allocation.Want{Request: compute.AllocationRequest{OutputDir: dir}})
		if code := workflow.CodeOf(err); code != workflow.CodeInvalid && code != workflow.CodeConflict {
			t.Errorf("output in %q: %v", dir, err)
		}
	}
}

// Slurm knows a user whose name is in no file by the number.
func TestWhoAmI(t *testing.T) {
	name, id := whoAmI(func() (*user.User, error) { return nil, user.UnknownUserIdError(4711) })
	if want := strconv.Itoa(os.Getuid()); name != want || id != want {
		t.Errorf("user %q, id %q, want %s for both", name, id, want)
	}
	name, id = whoAmI(func() (*user.User, error) { return &user.User{Username: "alice", Uid: "12"}, nil })
	if name != "alice" || id != "12" {
		t.Errorf("user %q, id %q", name, id)
	}
}

// nobody is a Slurm that must not be called.
type nobody struct{ t *testing.T }

func (n nobody) Run(_ context.Context, c slurm.Command) (slurm.Output, error) {
	n.t.Errorf("%s %q was called", c.Program, c.Args)
	return slurm.Output{}, errors.New("unexpected call")
}
