// Package output manages what a runner and its jobs write: the output directory, which
// one database uses at a time, and the files of attempts.
package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Dir is an output directory in use. Its files are named by ids of one database, so one
// database uses it at a time: the one whose name is in the file markerName. Each user
// holds a shared lock on that file. If another database claims the directory and it is
// not in use, the files in it are moved to a folder named after their database. If it is
// in use, the other database uses the folder named after itself. So the files of a
// database are in one of two places.
type Dir struct {
	// Path is where files are written.
	Path string
	// Others are where earlier runners of the database may have left files.
	Others []string
	// Notice, if not empty, is a message for the user about moved files.
	Notice string

	marker *os.File // nil if it is not locked
}

const (
	markerName = ".database"
	asideName  = "db-"     // followed by the beginning of a database's name
	unknown    = "unknown" // stands for the name of an unknown database
	asideSize  = 8
)

// keyedNames are the files under an output directory that are named by ids.
var keyedNames = []string{StdioDir, TerminationDir, SpoolDir, MetricsDir, "job_runner_*.log"}

// How long to wait while another process moves files, and how often to try to get the
// lock for that: two processes that try at once block each other.
const (
	claimPatience = 10 * time.Second
	claimTries    = 20
	claimPause    = 20 * time.Millisecond
)

// Claim creates the directory if it does not exist, and claims it for a database, if
// there is a name. Its errors have CodeInvalid if the directory cannot be written to; an
// invalid name of a database is an error, too.
func Claim(root, database string, log *slog.Logger) (*Dir, error) {
	if !isDatabaseName(database) {
		return nil, fmt.Errorf("the server has a database named %q; names have only capital letters and digits: check which server this is", database)
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return nil, Unwritable(err)
	}
	if database == "" {
		return &Dir{Path: root}, nil
	}
	file, err := openMarker(root)
	if err != nil {
		return nil, Unwritable(err)
	}
	d, err := claimMarked(root, database, file, log)
	if err != nil || d.marker == nil {
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return nil, Unwritable(err)
	}
	return d, nil
}

func openMarker(root string) (*os.File, error) {
	return trustedfile.OpenShared(filepath.Join(root, markerName), os.O_RDWR|os.O_CREATE, 0o666)
}

// Release unlocks the directory for other databases.
func (d *Dir) Release() error {
	if d.marker == nil {
		return nil
	}
	return d.marker.Close()
}

func claimMarked(root, database string, marker *os.File, log *slog.Logger) (*Dir, error) {
	d := &Dir{Path: root, Others: []string{asidePath(root, database)}, marker: marker}
	began := time.Now()
	for tries := 0; ; {
		err := Flock(marker, unix.LOCK_SH)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK) && time.Since(began) < claimPatience:
			time.Sleep(claimPause)
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return nil, fmt.Errorf("%s has been locked for %s", marker.Name(), claimPatience)
		case err != nil:
			log.Warn("the file system of the output directory has no locks", "path", root, "error", err)
			return d.withoutLock(root, database)
		}
		owner, err := readMarker(marker)
		if owner == database || err != nil {
			return d, err
		}
		if Flock(marker, unix.LOCK_EX) == nil && !hasRunner(root) {
			if err := d.claimFor(root, database); err != nil {
				return nil, err
			}
			continue // with the shared lock; another database may have been faster
		}
		if tries++; tries == claimTries {
			return claimAside(root, database)
		}
		if err := Flock(marker, unix.LOCK_UN); err != nil {
			return nil, err
		}
		time.Sleep(rand.N(claimPause))
	}
}

// Flock locks or unlocks a file. It returns unix.EWOULDBLOCK if another process has
// locked it.
func Flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// hasRunner reports whether a runner of an older version uses a directory, which locks
// its journal instead of the marker.
func hasRunner(root string) bool {
	paths, err := filepath.Glob(filepath.Join(globQuote(root), SpoolDir, "*"+ProcessJournalEnding))
	if err != nil {
		return false
	}
	for _, path := range paths {
		file, err := trustedfile.OpenShared(path, os.O_RDONLY, 0)
		if err != nil {
			continue // it was removed
		}
		err = Flock(file, unix.LOCK_EX)
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return true
		}
	}
	return false
}

// withoutLock claims a directory without locks, where it is not known whether it is in
// use. It moves no files.
func (d *Dir) withoutLock(root, database string) (*Dir, error) {
	owner, err := readMarker(d.marker)
	if owner == "" && err == nil {
		owner, err = database, writeMarker(d.marker, database)
	}
	if owner == database || err != nil {
		return d, err
	}
	return claimAside(root, database)
}

// claimAside returns the folder of a database in a directory of another one.
func claimAside(root, database string) (*Dir, error) {
	d := &Dir{Path: asidePath(root, database)}
	d.Notice = fmt.Sprintf("The output of jobs is in %s: %s is in use by another database.", d.Path, root)
	return d, os.MkdirAll(d.Path, 0o777)
}

func asidePath(root, database string) string {
	return filepath.Join(root, asideName+strings.ToLower(database[:min(asideSize, len(database))]))
}

// claimFor assigns the directory, which is not in use, to a database.
func (d *Dir) claimFor(root, database string) error {
	owner, err := readMarker(d.marker)
	if owner == database || err != nil {
		return err
	}
	if owner == "" {
		owner = unknown // of a version without markers
	}
	target := asidePath(root, owner)
	moved, err := putAside(root, target)
	if err != nil {
		return fmt.Errorf("move the files of another database: %w", err)
	}
	if moved > 0 {
		d.Notice = fmt.Sprintf("The files of another database in %s are now in %s.", root, target)
	}
	return writeMarker(d.marker, database)
}

// readMarker returns the name of the database that a directory belongs to, empty if there
// is none.
func readMarker(marker *os.File) (string, error) {
	text := make([]byte, 128)
	n, err := marker.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	name := string(bytes.TrimSpace(text[:n]))
	if !isDatabaseName(name) {
		return unknown, nil
	}
	return name, nil
}

// isDatabaseName reports whether a name is empty or valid for a database.
func isDatabaseName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}

// writeMarker writes the name. The file is not empty at any moment.
func writeMarker(marker *os.File, database string) error {
	n, err := marker.WriteAt([]byte(database+"\n"), 0)
	if err != nil {
		return err
	}
	return marker.Truncate(int64(n))
}

// putAside moves the files that are named by ids, and returns their number. It can be
// repeated if it was interrupted.
func putAside(root, target string) (moved int, err error) {
	for _, name := range keyedNames {
		paths, err := filepath.Glob(filepath.Join(globQuote(root), name))
		if err != nil {
			return moved, err
		}
		for _, path := range paths {
			if err := os.MkdirAll(target, 0o777); err != nil {
				return moved, err
			}
			if err := moveInto(path, filepath.Join(target, filepath.Base(path))); err != nil {
				return moved, err
			}
			moved++
		}
	}
	return moved, nil
}

// moveInto moves a file or a folder. The contents of a folder are merged into the target,
// where its database may be writing. A file whose name exists there gets a number.
func moveInto(path, target string) error {
	for i := 0; ; i++ {
		to := target
		if i > 0 {
			to = fmt.Sprintf("%s.%d", target, i)
		}
		err := renameNew(path, to)
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		if isFolder(path) && isFolder(to) {
			return mergeInto(path, to)
		}
	}
}

// isFolder reports whether a path is a folder, not a link to one.
func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func mergeInto(dir, target string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := moveInto(filepath.Join(dir, e.Name()), filepath.Join(target, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(dir)
}

// renameNew renames a file. It returns os.ErrExist if the target exists.
func renameNew(path, target string) error {
	err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, target, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not supported by this file system
		if _, err := os.Lstat(target); !errors.Is(err, os.ErrNotExist) {
			return unix.EEXIST
		}
		return os.Rename(path, target)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: path, New: target, Err: err}
	}
	return nil
}

// IsPutAside reports whether name is that of a folder for moved files in an output
// directory.
func IsPutAside(name string) bool { return strings.HasPrefix(name, asideName) }

// Dirs returns where files of a database may be under an output directory: the directory
// itself, unless another database uses it, and the folder for moved files.
func Dirs(root, database string) []string {
	if database == "" {
		return []string{root}
	}
	owner := ""
	if marker, err := trustedfile.OpenShared(filepath.Join(root, markerName), os.O_RDONLY, 0); err == nil {
		owner, _ = readMarker(marker) // one that cannot be read counts as empty
		marker.Close()
	}
	if owner == "" || owner == database {
		return []string{root, asidePath(root, database)}
	}
	return []string{asidePath(root, database)}
}

// Restore recreates the marker and the lock of a directory that was removed while it was
// in use. It returns an error if another database has claimed it.
func (d *Dir) Restore(database string) error {
	if d.marker == nil {
		return nil
	}
	file, err := openMarker(d.Path)
	if err != nil {
		return err
	}
	owner := ""
	if err = Flock(file, unix.LOCK_SH); err == nil {
		owner, err = readMarker(file)
	}
	switch {
	case err != nil:
	case owner == "":
		err = writeMarker(file, database)
	case owner != database:
		err = fmt.Errorf("another database uses %s now", d.Path)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	old := d.marker
	d.marker = file
	return old.Close()
}

// Unlinked reports whether an open file was removed.
func Unlinked(file *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(file.Fd()), &st) == nil && st.Nlink == 0
}

// ProcessJournals returns the process journals under an output directory, with the moved
// ones.
func ProcessJournals(outputDir string) ([]string, error) {
	var paths []string
	for _, folder := range []string{"", asideName + "*"} {
		found, err := filepath.Glob(filepath.Join(globQuote(outputDir), folder, SpoolDir, "*"+ProcessJournalEnding))
		if err != nil {
			return nil, fmt.Errorf("list process journals: %w", err)
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths) // so that all processes lock them in the same order
	return paths, nil
}

// globQuote returns a pattern that matches only the path.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// ProcessJournalEnding is the file name extension of process journals.
const ProcessJournalEnding = ".pids"

// Unwritable returns an error with CodeInvalid and a hint: the output directory cannot be
// written to.
func Unwritable(err error) error {
	e := workflow.Errorf(workflow.CodeInvalid, "cannot write to the output directory: %v", err).
		WithHint("choose another one with --output-dir")
	e.Err = err
	return e
}

// The folders under an output directory.
const (
	StdioDir       = "job_stdio"            // of the attempts' files
	SpoolDir       = "spool"                // where reports wait for the daemon
	TerminationDir = "termination"          // of messages of jobs about their end
	MetricsDir     = "resource_utilization" // of the time series
)
