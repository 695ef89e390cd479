// Package dbfile knows the file of a database from outside: its real path, whether
// it is still the one that was opened, and the process that has it.
package dbfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxLinks is how many symbolic links are followed, as in the kernel.
const maxLinks = 40

// Resolve returns the path of the file itself: what is beside it, such as its lock,
// belongs to the file and not to one of its names. A link to a file that does not
// exist yet is followed too, since SQLite would create that file. It returns an
// error if the links lead in a circle.
func Resolve(path string) (string, error) {
	at := path
	for range maxLinks {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			return at, nil //nolint:nilerr // whoever opens it says what is wrong
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", workflow.Errorf(workflow.CodeUnavailable, "cannot follow the symbolic link %s of database %s: %v", at, path, err)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(realDir(filepath.Dir(at)), to)
		}
		at = filepath.Clean(to)
	}
	return "", workflow.Errorf(workflow.CodeInvalid, "database %s is a symbolic link that leads in a circle", path).
		WithHint("give the path of the file itself")
}

// realDir is a folder without symbolic links in its path: a link in it that begins
// with ".." is meant from there.
func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// RefuseHardLinks is an error if the file has more than one name: each name has a
// journal and a lock of its own, so that two programs could have it open and damage
// it. Names that an interrupted snapshot or backup has left are removed.
func RefuseHardLinks(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil //nolint:nilerr // whoever opens it says what is wrong
	}
	count := links(info)
	for _, left := range []string{path + ".part", path + ".1"} {
		other, err := os.Lstat(left)
		if count < 2 || err != nil || !os.SameFile(info, other) {
			continue
		}
		if err := os.Remove(left); err == nil {
			count--
		}
	}
	if count < 2 {
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalid, "database %s has %d names (hard links): programs that open it by another one would damage it", path, count).
		WithHint("keep one name and remove the others: find DIR -samefile %s; or copy the file with `torc-slurm db backup`", path)
}

func links(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert // its size differs between machines
	}
	return 1
}

// Identity tells a file of this machine from its copies; empty if there is none.
func Identity(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// Files are a database and its journal as they were when it was opened.
type Files struct {
	path string
	was  map[string]os.FileInfo
}

// Watch remembers which files an open database has.
func Watch(path string) (*Files, error) {
	f := &Files{path: path, was: map[string]os.FileInfo{}}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Lstat(name)
		if err != nil {
			return nil, workflow.Errorf(workflow.CodeUnavailable, "database file %s is gone as soon as it was opened: %v", name, err)
		}
		f.was[name] = info
	}
	return f, nil
}

// Moved is an error if a file does not have its name any more: it was deleted,
// moved or replaced, and what is written to the open one is not in the database that
// others find. A file system that does not answer says nothing about that.
func (f *Files) Moved() error {
	for name, was := range f.was {
		is, err := os.Lstat(name)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return workflow.Errorf(workflow.CodeUnavailable, "database file %s was deleted or moved while this program had it open", name)
		case err == nil && !os.SameFile(was, is):
			return workflow.Errorf(workflow.CodeUnavailable, "database file %s was replaced by another file while this program had it open", name)
		}
	}
	return nil
}
