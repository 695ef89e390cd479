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

// rules are further conditions for a file.
type rules struct {
	plain  bool // no link
	secret bool // nobody else can read it
	any    bool // a folder will do
	owner  bool // only the owner is checked
}

// maxLinks is how many links are followed, as in the kernel.
const maxLinks = 40

// trusted are the folders that the user has configured as trusted.
var trusted atomic.Pointer[[]string]

// Trust sets the folders in which files are trusted, whoever can write them: the user
// trusts all who can. It applies to the whole program.
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

// IsTrusted reports whether a path is one of the folders of Trust, or in one.
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

// check walks to a path from the root and returns it without links. In each folder on the
// way, no other user may be able to replace the next entry.
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
		return "", fmt.Errorf("check %s: %w", at, err)
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
				return "", fmt.Errorf("check %s: %w", at, err)
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
			return "", untrustedf("remove it", "%s is a symbolic link, which is not allowed here", path)
		case isLink:
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", fmt.Errorf("check %s: %w", next, err)
			}
			if filepath.IsAbs(target) {
				at = "/"
				if err := unix.Lstat(at, &dir); err != nil {
					return "", fmt.Errorf("check %s: %w", at, err)
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

// folderProblem returns an error if another user could have put an entry into a folder.
// With a sticky bit they can only do that with entries of their own.
func folderProblem(path, at string, dir *unix.Stat_t, next string, entry *unix.Stat_t) error {
	who := writers(dir, at)
	if who == "" {
		return nil
	}
	if dir.Mode&unix.S_ISVTX != 0 {
		if trustedOwner(entry.Uid) {
			return nil
		}
		return notOurs(path, next, entry.Uid)
	}
	return untrustedf(fmt.Sprintf("remove that right (chmod go-w %s), or, if you trust all of them: torc-slurm config trust %s", at, at),
		"%s is not trusted: %s can write into the folder %s (mode %04o)", path, who, at, dir.Mode&0o7777)
}

// entryProblem returns an error for a folder on the way, or the file at its end. Write
// access to a folder is checked with its next entry, because of the sticky bit.
func entryProblem(path, at string, st *unix.Stat_t, last bool, r rules) error {
	file := last && !r.any
	switch kind := st.Mode & unix.S_IFMT; {
	case !trustedOwner(st.Uid) && !isUnmapped(st.Uid, kind):
		return notOurs(path, at, st.Uid)
	case !file && kind == unix.S_IFDIR:
		return nil
	case file && kind != unix.S_IFREG:
		return untrustedf("remove it", "%s is not a regular file", path)
	}
	if who := writers(st, at); who != "" && !r.owner {
		return untrustedf("if you know what is in it, remove that right: chmod go-w "+at,
			"%s is not trusted: %s can write it (mode %04o)", path, who, st.Mode&0o7777)
	}
	return nil
}

func notOurs(path, at string, uid uint32) error {
	what := "it"
	if at != path {
		what = at
	}
	return untrustedf(fmt.Sprintf("remove it, or work in a folder of your own; if you trust them: torc-slurm config trust %s", filepath.Dir(path)),
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

// secretProblem returns an error if others can read a secret.
func secretProblem(path string, st *unix.Stat_t, r rules) error {
	if !r.secret || st.Mode&0o077 == 0 {
		return nil
	}
	return untrustedf(fmt.Sprintf("make a new secret, and protect the file: chmod 600 %s", path),
		"%s holds a secret and others can read it (mode %04o)", path, st.Mode&0o7777)
}
