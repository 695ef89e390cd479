package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// fileLock is the lock beside a database. It is released when its process ends, for
// whatever reason.
type fileLock struct {
	file *flock.Flock // nil if the file system has no locks
}

// takeLock locks the database for this process, whose name it writes to the lock's file. It
// returns an error that names the owner if there is another.
func takeLock(path string, by process) (*fileLock, error) {
	name := path + ".lock"
	file := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW))
	switch ok, err := file.TryLock(); {
	case lockless(err):
		return &fileLock{}, file.Close()
	case err != nil:
		return nil, lockFault(path, err)
	case !ok:
		return nil, errors.Join(lockRefusal(path, name), file.Close())
	}
	if err := nameLock(name, by); err != nil {
		return nil, errors.Join(lockFault(path, err), file.Close())
	}
	return &fileLock{file}, nil
}

// nameLock writes the owner of a lock to its file.
func nameLock(name string, by process) error {
	f, err := trustedfile.OpenShared(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	n, err := fmt.Fprintf(f, "%s %d\n", by.host, by.pid)
	if err == nil {
		err = f.Truncate(int64(n))
	}
	return errors.Join(err, f.Close())
}

// works reports whether the file system has locks.
func (l *fileLock) works() bool { return l.file != nil }

func (l *fileLock) release() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// lockless reports whether the file system has no locks.
func lockless(err error) bool {
	return errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOLCK)
}

// lockRefusal returns an error that names the owner of the lock.
func lockRefusal(path, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the lock of database %s: %w", path, err)
	}
	host, pid := "this host", int64(0)
	if _, err := fmt.Fscan(strings.NewReader(string(text)), &host, &pid); err != nil {
		return workflow.Errorf(workflow.CodeConflict, "database %s is in use by another torc-slurm", path)
	}
	return inUse(path, host, pid).WithHint("use that one, or stop it first")
}

// lockFault returns why the lock's file cannot be created.
func lockFault(path string, err error) error {
	e := workflow.Errorf(workflow.CodeUnavailable, "cannot lock database %s: %v", path, err)
	e.Err = err
	switch {
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return e.WithHint("check the permissions of its folder, and that the file system is not mounted read-only")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return e.WithHint("make room on its file system or raise the quota")
	}
	return e
}
