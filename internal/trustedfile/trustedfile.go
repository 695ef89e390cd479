// Package trustedfile reads and writes files on machines that several users share.
//
// A file that decides who gets our commands, or what runs in our name, is trusted only if
// no other user could have written it: it and the folders above it belong to us or to
// root, and no other user can write to them. In a folder with a sticky bit, such as /tmp,
// others cannot touch our files. Folders that the user has configured as trusted are not
// checked.
//
// Output folders are often shared on purpose. Files there are opened so that others cannot
// redirect them: no link is followed, and the file must be our own.
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

// maxSize is the size of the largest file that is read.
const maxSize = 4 << 20

// Read returns the contents of a trusted file. It follows links that no other user could
// have made. It returns fs.ErrNotExist if the file does not exist, and an error with
// CodeForbidden if it is not trusted.
func Read(path string) ([]byte, error) { return read(path, rules{}) }

// ReadPlain is Read without following a link at the end of the path, for files that we
// wrote ourselves.
func ReadPlain(path string) ([]byte, error) { return read(path, rules{plain: true}) }

// ReadSecret is Read for a secret, which no other user may be able to read.
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
	// Nobody else can change the folders, so this is the checked file. What counts is
	// still the open file.
	if err := checkOpen(f, path, r); err != nil {
		return nil, err
	}
	return readAll(f, path)
}

// readAll reads a file of at most maxSize.
func readAll(f *os.File, path string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(text) > maxSize {
		err = workflow.Errorf(workflow.CodeInvalid, "%s is larger than %s", path, workflow.FormatBytes(maxSize))
	}
	return text, err
}

// ReadAny returns the contents of a regular file that need not be trusted.
func ReadAny(path string) ([]byte, error) {
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe would block
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, untrustedf("remove it", "%s is not a regular file", path))
	}
	return readAll(f, path)
}

// Check returns an error with CodeForbidden if a file is not trusted, and fs.ErrNotExist
// if it does not exist.
func Check(path string) error {
	_, err := check(path, rules{})
	return err
}

// CheckOwner is Check for a file whose mode will be corrected later.
func CheckOwner(path string) error {
	_, err := check(path, rules{owner: true})
	return err
}

// CheckFolder returns an error with CodeForbidden if others could replace our files in a
// folder.
func CheckFolder(dir string) error {
	real, err := check(dir, rules{any: true})
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(real, &st); err != nil {
		return fmt.Errorf("check %s: %w", real, err)
	}
	if IsTrusted(real) {
		return nil
	}
	return folderProblem(dir, real, &st, real, &unix.Stat_t{Uid: uint32(os.Geteuid())})
}

// CheckPrivate returns an error with CodeForbidden unless a folder is our own, closed to
// other users, and not a link, and nobody else can replace it.
func CheckPrivate(dir string) error {
	real, err := check(dir, rules{any: true, plain: true})
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(real, &st); err != nil {
		return fmt.Errorf("check %s: %w", real, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return untrustedf("if it is yours, protect it: chmod 700 "+dir, "%s is not a private folder of yours (mode %04o)", dir, st.Mode&0o7777)
	}
	return nil
}

// CheckLink returns an error with CodeForbidden if a path is a link of another user, which
// may lead anywhere.
func CheckLink(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &fs.PathError{Op: "check", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK && !trustedOwner(st.Uid) && !IsTrusted(path) {
		return untrustedf("remove it", "%s is a symbolic link of %s", path, userName(st.Uid))
	}
	return nil
}

// Append opens a file for appending, and creates it if it does not exist. The file must be
// our own: not a link, and without a hard link that others could have made. Others may be
// able to write to its folder.
func Append(path string, perm fs.FileMode) (*os.File, error) {
	return OpenOwn(path, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT, perm)
}

// OpenOwn opens a file with flags. It must be our own, as for Append.
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
		err = f.Truncate(0) // only after the owner is checked
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// WriteOwn writes a file. It must be our own, as for Append.
func WriteOwn(path string, text []byte, perm fs.FileMode) error {
	f, err := OpenOwn(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// ownProblem returns an error if a file is not our own.
func ownProblem(path string, st *unix.Stat_t) error {
	switch {
	case int(st.Uid) != os.Geteuid():
		return untrustedf("remove it, or work in another folder", "%s belongs to %s", path, userName(st.Uid))
	case st.Nlink < 2:
		return nil
	}
	var dir unix.Stat_t
	if err := unix.Stat(filepath.Dir(path), &dir); err == nil && int(dir.Uid) == os.Geteuid() && writers(&dir, filepath.Dir(path)) == "" {
		return nil // only we could have made the hard links
	}
	return untrustedf("remove it", "%s has a hard link, which another user may have made", path)
}

// OpenShared opens a file of an output folder that several users may share, and creates it
// if it does not exist. It must not be a link, or have hard links.
func OpenShared(path string, flags int, perm fs.FileMode) (*os.File, error) {
	f, err := openPlain(path, flags, perm)
	if err != nil {
		return nil, err
	}
	if st, err := statOf(f); err != nil || st.Nlink > 1 {
		if err == nil {
			err = untrustedf("remove it", "%s has a hard link", path)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Write replaces a file, all or nothing. It does not write to the old file, or through a
// link.
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
		_ = os.Remove(f.Name()) // remove a partial file
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// openPlain opens a regular file. It does not follow a link or block on a pipe.
func openPlain(path string, flags int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, perm)
	if errors.Is(err, unix.ELOOP) {
		return nil, untrustedf("remove it", "%s is a symbolic link, which is not allowed here", path)
	}
	if errors.Is(err, unix.ENXIO) {
		return nil, untrustedf("remove it", "%s is not a regular file", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = untrustedf("remove it", "%s is not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func statOf(f *os.File) (st unix.Stat_t, err error) {
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return st, fmt.Errorf("check %s: %w", f.Name(), err)
	}
	return st, nil
}

// untrustedf returns the error with CodeForbidden for a file that is not used.
func untrustedf(hint, format string, args ...any) error {
	return workflow.Errorf(workflow.CodeForbidden, format, args...).WithHint("%s", hint)
}
