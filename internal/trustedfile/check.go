package trustedfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// rules say what else a file has to be.
type rules struct {
	plain  bool // no link
	secret bool // nobody else can read it
	any    bool // a folder will do
	owner  bool // its mode does not matter
}

// maxLinks is how many links there may be on one way, as for the kernel.
const maxLinks = 40

// trusted are the folders that the user trusts by their own configuration.
var trusted atomic.Pointer[[]string]

// Trust sets the folders in which, and below which, files are trusted whoever can
// write them: all who can are people that the user trusts. It is of the whole
// program, as its user is.
func Trust(folders []string) {
	var all []string
	for _, dir := range folders {
		if !filepath.IsAbs(dir) {
			continue
		}
		all = append(all, filepath.Clean(dir))
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != filepath.Clean(dir) {
			all = append(all, real)
		}
	}
	trusted.Store(&all)
}

// IsTrusted reports whether a path is in a folder that was named to Trust, or is one.
func IsTrusted(path string) bool {
	folders := trusted.Load()
	if folders == nil {
		return false
	}
	for _, dir := range *folders {
		if path == dir || dir == "/" || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

// check walks to a path from the root and returns it without links. Each folder
// on the way is one in which nobody else can put something else in the place of
// what comes next.
func check(path string, r rules) (string, error) { //nolint:gocognit // one case for each way in which a path is not trusted
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	at, trail, links := "/", strings.Split(path[1:], "/"), 0
	var dir unix.Stat_t
	if err := unix.Lstat(at, &dir); err != nil {
		return "", fmt.Errorf("look at %s: %w", at, err)
	}
	for len(trail) > 0 {
		name := trail[0]
		trail = trail[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			if err := unix.Lstat(at, &dir); err != nil {
				return "", fmt.Errorf("look at %s: %w", at, err)
			}
			continue
		}
		next := filepath.Join(at, name)
		var st unix.Stat_t
		if err := unix.Lstat(next, &st); err != nil {
			return "", &fs.PathError{Op: "open", Path: path, Err: err}
		}
		isLink := st.Mode&unix.S_IFMT == unix.S_IFLNK
		last := len(trail) == 0
		if !IsTrusted(next) {
			if err := folderProblem(path, at, &dir, next, &st); err != nil {
				return "", err
			}
			if !isLink {
				if err := entryProblem(path, next, &st, last, r); err != nil {
					return "", err
				}
			}
		}
		switch {
		case isLink && last && r.plain:
			return "", refusef("remove it", "%s is a symbolic link, where none may be", path)
		case isLink:
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", fmt.Errorf("look at %s: %w", next, err)
			}
			if filepath.IsAbs(target) {
				at = "/"
				if err := unix.Lstat(at, &dir); err != nil {
					return "", fmt.Errorf("look at %s: %w", at, err)
				}
			}
			trail = append(strings.Split(target, "/"), trail...)
		case last:
			return next, secretProblem(path, &st, r)
		default:
			at, dir = next, st
		}
	}
	return at, nil
}

// folderProblem is what speaks against an entry of a folder: somebody else could have
// put it there. With a sticky bit one can do that only with entries of one's own.
func folderProblem(path, at string, dir *unix.Stat_t, next string, entry *unix.Stat_t) error {
	who := writers(dir, at)
	if who == "" {
		return nil
	}
	if dir.Mode&unix.S_ISVTX != 0 {
		if ours(entry.Uid) {
			return nil
		}
		return notOurs(path, next, entry.Uid)
	}
	return refusef(fmt.Sprintf("take that right from them (chmod go-w %s), or, if you trust all of them: torc-slurm config trust %s", at, at),
		"%s is not trusted: %s can write into the folder %s (mode %04o)", path, who, at, dir.Mode&0o7777)
}

// entryProblem is what speaks against a folder on the way, or the file at its end. That
// others can write into a folder is looked at with what comes next, where the sticky
// bit counts.
func entryProblem(path, at string, st *unix.Stat_t, last bool, r rules) error {
	file := last && !r.any
	switch kind := st.Mode & unix.S_IFMT; {
	case !ours(st.Uid) && !outside(st.Uid, kind):
		return notOurs(path, at, st.Uid)
	case !file && kind == unix.S_IFDIR:
		return nil
	case file && kind != unix.S_IFREG:
		return refusef("remove it", "%s is not a regular file", path)
	}
	if who := writers(st, at); who != "" && !r.owner {
		return refusef("take that right from them, if you know what is in it: chmod go-w "+at,
			"%s is not trusted: %s can write it (mode %04o)", path, who, st.Mode&0o7777)
	}
	return nil
}

func notOurs(path, at string, uid uint32) error {
	what := "it"
	if at != path {
		what = at
	}
	return refusef(fmt.Sprintf("remove it, or work in a folder of your own; if you trust them: torc-slurm config trust %s", filepath.Dir(path)),
		"%s is not trusted: %s belongs to %s", path, what, userName(uid))
}

// checkOpen is entryProblem and secretProblem for an open file.
func checkOpen(f *os.File, path string, r rules) error {
	st, err := statOf(f)
	if err != nil {
		return err
	}
	if !IsTrusted(f.Name()) {
		if err := entryProblem(path, f.Name(), &st, true, r); err != nil {
			return err
		}
	}
	return secretProblem(path, &st, r)
}

// secretProblem is what speaks against a file as a place for a secret.
func secretProblem(path string, st *unix.Stat_t, r rules) error {
	if !r.secret || st.Mode&0o077 == 0 {
		return nil
	}
	return refusef(fmt.Sprintf("make another secret, and close the file: chmod 600 %s", path),
		"%s holds a secret and others can read it (mode %04o)", path, st.Mode&0o7777)
}
