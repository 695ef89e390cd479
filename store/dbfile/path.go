// Package dbfile describes the file of a database from outside: its real path, whether it
// is still the file that was opened, and the process that has it open.
package dbfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxLinks limits the symbolic links that are followed, as in the kernel.
const maxLinks = 40

// Resolve returns the path of the file itself, since what is beside it, such as its lock,
// belongs to the file and not to a name. It also follows a link to a file that does not
// exist, since SQLite would create that file. It returns an error for a cycle of links.
func Resolve(path string) (string, error) {
	at := path
	for range maxLinks {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			return at, nil //nolint:nilerr // opening it will fail with the reason
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

// realDir returns a folder without symbolic links in its path, so that ".." in a link is
// resolved correctly.
func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// RefuseHardLinks returns an error if the file has several names: each would have its own
// journal and lock, so that two programs could open and damage it. It removes names that an
// interrupted snapshot or backup left behind.
func RefuseHardLinks(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil //nolint:nilerr // opening it will fail with the reason
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
		return uint64(stat.Nlink) //nolint:unconvert // the type differs between architectures
	}
	return 1
}

// Identity identifies a file on this machine; empty if there is none.
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

// Files are a database file and its journal as they were opened.
type Files struct {
	path string
	was  map[string]os.FileInfo
}

// Watch returns the files of an open database.
func Watch(path string) (*Files, error) {
	f := &Files{path: path, was: map[string]os.FileInfo{}}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Lstat(name)
		if err != nil {
			return nil, workflow.Errorf(workflow.CodeUnavailable, "database file %s disappeared right after it was opened: %v", name, err)
		}
		f.was[name] = info
	}
	return f, nil
}

// Moved returns an error if a file was deleted, moved or replaced: what is written to it
// would be lost. If the file system does not answer, it returns nil.
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
