// Package output is about what a runner and its jobs write: the output directory, which is
// one database's at a time, and the files of attempts.
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

// Dir is an output directory in use. The files in it are named by numbers
// that only one database gives, so it is one database's at a time: the one whose
// name is in the file markerName. Whoever uses it holds a shared lock on that
// file. Another database that finds it unused puts what is there aside, into a
// folder named by the database that it is of; if it is in use, it takes the
// folder of its own name. So both ways lead to the same folder, and what a
// database has written is in one of two places.
type Dir struct {
	// Path is where files are to be written.
	Path string
	// Others are where earlier runners of the database may have left files.
	Others []string
	// Notice, if not empty, tells the user what is unusual about it.
	Notice string

	marker *os.File // nil if it is not locked
}

const (
	markerName = ".database"
	asideName  = "db-"     // and the beginning of a database's name
	unknown    = "unknown" // the name for files of nobody knows which database
	asideSize  = 8
)

// keyedNames are what the numbers of a database name, under an output directory.
var keyedNames = []string{StdioDir, TerminationDir, SpoolDir, MetricsDir, "job_runner_*.log"}

// How long somebody is waited for who is putting files aside, and how often it
// is tried to become that one: two that try at once stand in each other's way.
const (
	claimPatience = 10 * time.Second
	claimTries    = 20
	claimPause    = 20 * time.Millisecond
)

// Claim makes the directory if it is not there and claims it for a
// database. Without a name for that it is only made. A name that no database of
// ours has is an error.
func Claim(root, database string, log *slog.Logger) (*Dir, error) {
	if !isDatabaseName(database) {
		return nil, fmt.Errorf("the server calls its database %q, and a name has only capital letters and digits: check which server this is", database)
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

// Release lets other databases have the directory.
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
			if err := d.takeOver(root, database); err != nil {
				return nil, err
			}
			continue // as a user; somebody may have been faster
		}
		if tries++; tries == claimTries {
			return aside(root, database)
		}
		if err := Flock(marker, unix.LOCK_UN); err != nil {
			return nil, err
		}
		time.Sleep(rand.N(claimPause))
	}
}

// Flock locks or unlocks a file; unix.EWOULDBLOCK is that somebody else has locked it.
func Flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// hasRunner reports whether a runner works in a directory: one of a version that
// does not lock the marker is known by its journal.
func hasRunner(root string) bool {
	paths, err := filepath.Glob(filepath.Join(globQuote(root), SpoolDir, "*"+ProcessJournalEnding))
	if err != nil {
		return false
	}
	for _, path := range paths {
		file, err := trustedfile.OpenShared(path, os.O_RDONLY, 0)
		if err != nil {
			continue // it is gone
		}
		err = Flock(file, unix.LOCK_EX)
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return true
		}
	}
	return false
}

// withoutLock uses a directory of which nobody can tell whether it is in use:
// nothing is put aside.
func (d *Dir) withoutLock(root, database string) (*Dir, error) {
	owner, err := readMarker(d.marker)
	if owner == "" && err == nil {
		owner, err = database, writeMarker(d.marker, database)
	}
	if owner == database || err != nil {
		return d, err
	}
	return aside(root, database)
}

// aside is the folder of a database in a directory that is another's.
func aside(root, database string) (*Dir, error) {
	d := &Dir{Path: asidePath(root, database)}
	d.Notice = fmt.Sprintf("The output of jobs is in %s: %s is in use by another database.", d.Path, root)
	return d, os.MkdirAll(d.Path, 0o777)
}

func asidePath(root, database string) string {
	return filepath.Join(root, asideName+strings.ToLower(database[:min(asideSize, len(database))]))
}

// takeOver makes the directory a database's; nobody uses it.
func (d *Dir) takeOver(root, database string) error {
	owner, err := readMarker(d.marker)
	if owner == database || err != nil {
		return err
	}
	if owner == "" {
		owner = unknown // of a version that left no marker
	}
	target := asidePath(root, owner)
	moved, err := putAside(root, target)
	if err != nil {
		return fmt.Errorf("put the files of another database aside: %w", err)
	}
	if moved > 0 {
		d.Notice = fmt.Sprintf("The files of another database in %s are now in %s.", root, target)
	}
	return writeMarker(d.marker, database)
}

// readMarker returns the name of the database that a directory belongs to, the
// empty string if there is none.
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

// isDatabaseName reports whether a name may be that of a database, or is empty.
func isDatabaseName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}

// writeMarker leaves no moment in which there is no name.
func writeMarker(marker *os.File, database string) error {
	n, err := marker.WriteAt([]byte(database+"\n"), 0)
	if err != nil {
		return err
	}
	return marker.Truncate(int64(n))
}

// putAside moves what is named by the numbers of a database. It may be broken
// off and done again.
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

// moveInto moves a file or a folder; what is in a folder joins what is in the
// target, in which its database may be writing. A file whose name is taken there
// gets a number.
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

// isFolder reports whether a path is a folder, and no link to one.
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

// renameNew renames to a name that must be free.
func renameNew(path, target string) error {
	err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, target, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not on this file system
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

// IsPutAside reports whether a folder of that name in an output directory holds
// files of one database that were put aside.
func IsPutAside(name string) bool { return strings.HasPrefix(name, asideName) }

// Dirs returns where files of a database may be under an output
// directory: the directory itself unless it is another database's, and where
// they have been put aside.
func Dirs(root, database string) []string {
	if database == "" {
		return []string{root}
	}
	owner := ""
	if marker, err := trustedfile.OpenShared(filepath.Join(root, markerName), os.O_RDONLY, 0); err == nil {
		owner, _ = readMarker(marker) // what cannot be read says nothing
		marker.Close()
	}
	if owner == "" || owner == database {
		return []string{root, asidePath(root, database)}
	}
	return []string{asidePath(root, database)}
}

// Restore makes a directory again that was removed while it was in use: its name and
// its lock. One in which nothing is locked needs neither.
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
		err = fmt.Errorf("%s is another database's now", d.Path)
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

// ProcessJournals lists the process journals under an output directory, and those that
// were put aside there.
func ProcessJournals(outputDir string) ([]string, error) {
	var paths []string
	for _, folder := range []string{"", asideName + "*"} {
		found, err := filepath.Glob(filepath.Join(globQuote(outputDir), folder, SpoolDir, "*"+ProcessJournalEnding))
		if err != nil {
			return nil, fmt.Errorf("list process journals: %w", err)
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths) // all take their locks in the same order
	return paths, nil
}

// globQuote makes a path match itself only.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// ProcessJournalEnding is the ending of the files that list what a runner started.
const ProcessJournalEnding = ".pids"

// Unwritable is that the output directory cannot be written to, in words for the user.
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
	TerminationDir = "termination"          // of what jobs say of their end
	MetricsDir     = "resource_utilization" // of the time series
)
