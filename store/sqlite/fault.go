package sqlite

import (
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Fault turns SQLite's errors about the file itself into errors that name the file and say
// what to do. It returns other errors unchanged.
func Fault(path string, err error) error {
	var known *workflow.Error
	var e sqlite3.Error
	if err == nil || errors.As(err, &known) || !errors.As(err, &e) {
		return err
	}
	code := e.Code
	if e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT {
		code = sqlite3.ErrFull // some calls only say that they failed
	}
	switch code {
	case sqlite3.ErrFull:
		known = workflow.Errorf(workflow.CodeUnavailable, "no space left for database %s", path).
			WithHint("make room on its file system or raise the quota; nothing that was acknowledged is lost")
	case sqlite3.ErrReadonly:
		known = workflow.Errorf(workflow.CodeUnavailable, "database %s cannot be written", path).
			WithHint("check the permissions of the file and its folder, and that the file system is not mounted read-only")
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		known = workflow.Errorf(workflow.CodeUnavailable, "database %s is locked by another program", path).
			WithHint("close what has it open, for example a sqlite3 shell")
	case sqlite3.ErrCantOpen, sqlite3.ErrPerm, sqlite3.ErrAuth:
		known = workflow.Errorf(workflow.CodeUnavailable, "database %s cannot be opened", path).
			WithHint("check that its folder exists and that you may read and write it")
	case sqlite3.ErrNotADB:
		known = workflow.Errorf(workflow.CodeCorrupt, "%s is not a database", path).
			WithHint("give the path of another file, or restore it from a backup")
	case sqlite3.ErrCorrupt:
		known = workflow.Errorf(workflow.CodeCorrupt, "database %s is damaged", path).
			WithHint("stop what uses it, run `torc-slurm db check`, and restore it from a backup")
	case sqlite3.ErrIoErr, sqlite3.ErrNoLFS, sqlite3.ErrProtocol:
		known = workflow.Errorf(workflow.CodeUnavailable, "input/output error on database %s: %v", path, e).
			WithHint("check its file system")
	default:
		return err
	}
	known.Err = err
	return known
}
