// Package trustedfile reads and writes files on machines that others share.
//
// A file that decides who gets our commands, or what is run in our name, is
// trusted only if nobody else could have written it: it and the folders above it
// belong to us or to root, and no other user can write into them. A folder with a
// sticky bit, such as /tmp, is one in which others cannot touch what is ours.
// Folders that the user trusts by their own configuration are not looked at.
//
// Output folders are often shared on purpose. What is written there is opened so
// that nobody can redirect it: no link is followed, and the file is our own.
package trustedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxSize is the size of the largest file that is read as a whole.
const maxSize = 4 << 20

// Read returns the content of a file that is trusted. Links on the way to it are
// followed if nobody else could have made them. It returns fs.ErrNotExist if there
// is no such file, and an error of the code forbidden if it is not trusted.
func Read(path string) ([]byte, error) { return read(path, rules{}) }

// ReadPlain is Read for a file that no link has any business to stand for: one that
// we wrote ourselves.
func ReadPlain(path string) ([]byte, error) { return read(path, rules{plain: true}) }

// ReadSecret is Read for a secret, which nobody else may be able to read, either.
func ReadSecret(path string) ([]byte, error) { return read(path, rules{secret: true}) }

func read(path string, r rules) ([]byte, error) {
	real, err := check(path, r)
	if err != nil {
		return nil, err
	}
	f, err := openPlain(real, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The folders cannot change under us: this is the file that was looked at. What
	// counts is still what is open.
	if err := checkOpen(f, path, r); err != nil {
		return nil, err
	}
	return readAll(f, path)
}

// readAll reads a file that has not more than maxSize.
func readAll(f *os.File, path string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(text) > maxSize {
		err = workflow.Errorf(workflow.CodeInvalid, "%s is larger than %s", path, workflow.FormatBytes(maxSize))
	}
	return text, err
}

// ReadAny returns the content of a regular file that need not be trusted.
func ReadAny(path string) ([]byte, error) {
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe would hold us up
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, refusef("remove it", "%s is not a regular file", path))
	}
	return readAll(f, path)
}

// Check is an error of the code forbidden if a file is not trusted, fs.ErrNotExist if
// it is not there.
func Check(path string) error {
	_, err := check(path, rules{})
	return err
}

// CheckOwner is Check for a file whose mode is not yet what it should be.
func CheckOwner(path string) error {
	_, err := check(path, rules{owner: true})
	return err
}

// CheckFolder is an error of the code forbidden if others could replace, in a folder,
// what we make there.
func CheckFolder(dir string) error {
	real, err := check(dir, rules{any: true})
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(real, &st); err != nil {
		return fmt.Errorf("look at %s: %w", real, err)
	}
	if IsTrusted(real) {
		return nil
	}
	return folderProblem(dir, real, &st, real, &unix.Stat_t{Uid: uint32(os.Geteuid())})
}

// CheckPrivate is an error of the code forbidden unless a folder is our own, closed to
// everybody else, and no link, and nobody can put another one in its place.
func CheckPrivate(dir string) error {
	real, err := check(dir, rules{any: true, plain: true})
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(real, &st); err != nil {
		return fmt.Errorf("look at %s: %w", real, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return refusef("close it to others, if it is yours: chmod 700 "+dir, "%s is not a private folder of yours (mode %04o)", dir, st.Mode&0o7777)
	}
	return nil
}

// CheckLink is an error of the code forbidden if a path is a link that somebody else
// made: it may lead anywhere.
func CheckLink(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &fs.PathError{Op: "look at", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK && !ours(st.Uid) && !IsTrusted(path) {
		return refusef("remove it", "%s is a symbolic link of %s", path, userName(st.Uid))
	}
	return nil
}

// Append opens a file to append to it, and makes it if it is not there. It has to
// be our own: no link, and with no second name where others could have given it
// one. Others may be able to write into its folder.
func Append(path string, perm fs.FileMode) (*os.File, error) {
	return OpenOwn(path, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT, perm)
}

// OpenOwn opens a file as flags say, which has to be our own, as for Append.
func OpenOwn(path string, flags int, perm fs.FileMode) (*os.File, error) {
	f, err := openPlain(path, flags&^unix.O_TRUNC, perm)
	if err != nil {
		return nil, err
	}
	st, err := statOf(f)
	if err == nil {
		err = ownProblem(path, &st)
	}
	if err == nil && flags&unix.O_TRUNC != 0 {
		err = f.Truncate(0) // not before it is known whose it is
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// WriteOwn writes a file, which has to be our own, as for Append.
func WriteOwn(path string, text []byte, perm fs.FileMode) error {
	f, err := OpenOwn(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// ownProblem is what speaks against a file, of whatever folder, being our own.
func ownProblem(path string, st *unix.Stat_t) error {
	switch {
	case int(st.Uid) != os.Geteuid():
		return refusef("remove it, or work in another folder", "%s belongs to %s", path, userName(st.Uid))
	case st.Nlink < 2:
		return nil
	}
	var dir unix.Stat_t
	if err := unix.Stat(filepath.Dir(path), &dir); err == nil && int(dir.Uid) == os.Geteuid() && writers(&dir, filepath.Dir(path)) == "" {
		return nil // only we could have made the other names
	}
	return refusef("remove it", "%s has a second name (a hard link), which somebody else may have made", path)
}

// OpenShared opens a file of an output folder that several users may share, and makes
// it if it is not there: no link, and no second name.
func OpenShared(path string, flags int, perm fs.FileMode) (*os.File, error) {
	f, err := openPlain(path, flags, perm)
	if err != nil {
		return nil, err
	}
	if st, err := statOf(f); err != nil || st.Nlink > 1 {
		if err == nil {
			err = refusef("remove it", "%s has a second name (a hard link)", path)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Write replaces a file by one with another content, all or nothing. What was
// there, and be it a link to elsewhere, is not written to.
func Write(path string, text []byte, perm fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600, and new
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(text)
	if err == nil && perm != 0o600 {
		err = f.Chmod(perm)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what is left of it
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// openPlain opens a regular file. Neither a link nor a pipe at which nobody reads
// can hold it up.
func openPlain(path string, flags int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, perm)
	if errors.Is(err, unix.ELOOP) {
		return nil, refusef("remove it", "%s is a symbolic link, where none may be", path)
	}
	if errors.Is(err, unix.ENXIO) {
		return nil, refusef("remove it", "%s is not a regular file", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = refusef("remove it", "%s is not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func statOf(f *os.File) (st unix.Stat_t, err error) {
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return st, fmt.Errorf("look at %s: %w", f.Name(), err)
	}
	return st, nil
}

// refusef is the error for a file that is not used.
func refusef(hint, format string, args ...any) error {
	return workflow.Errorf(workflow.CodeForbidden, format, args...).WithHint("%s", hint)
}
