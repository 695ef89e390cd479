package slurmtest

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"time"
)

// TakeReal starts the real cluster and gives it to the caller exclusively until release
// is called. It is for programs that are not tests. It waits until ctx ends for others
// that use the cluster.
func TakeReal(ctx context.Context) (r *Real, release func() error, err error) {
	state, err := bringUp()
	if err != nil {
		return nil, nil, fmt.Errorf("start the real Slurm: %w", err)
	}
	inUse := useLock(state)
	if _, err := inUse.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return nil, nil, fmt.Errorf("others are using the real Slurm (%s is locked): %w", inUse.Path(), err)
	}
	return &Real{State: state}, inUse.Unlock, nil
}

// MakeDir creates a directory that belongs to TestUser, in their home.
func (r *Real) MakeDir(pattern string) (string, error) {
	owner, err := user.Lookup(TestUser)
	if err != nil {
		return "", fmt.Errorf("look up the cluster's user: %w", err)
	}
	dir, err := os.MkdirTemp(r.home(), pattern)
	if err != nil {
		return "", fmt.Errorf("create a directory for the cluster's user: %w", err)
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		return "", fmt.Errorf("change the owner of a directory to the cluster's user: %w", err)
	}
	return dir, nil
}
