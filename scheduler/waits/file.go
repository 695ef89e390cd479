package waits

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

// file is the path of a history.
type file string

// stamp tells whether a file has changed; the zero value is that of a missing one.
type stamp struct {
	device, inode uint64
	size          int64
	modified      int64 // nanoseconds
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode = st.Dev, st.Ino
	}
	return s
}

func (p file) stamp() stamp {
	info, err := os.Lstat(string(p))
	if err != nil {
		return stamp{}
	}
	return stampOf(info)
}

func (p file) old() string { return string(p) + ".old" }

// read returns the contents; nothing if there is no file.
func (p file) read() ([]byte, stamp, error) {
	if _, err := os.Lstat(string(p)); errors.Is(err, fs.ErrNotExist) {
		return nil, stamp{}, nil
	}
	var text []byte
	var at stamp
	err := p.locked(func(f *locked) (err error) {
		at = f.stamp
		text, err = f.read()
		return err
	})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) { // it may be readable all the same
		text, err = trustedfile.ReadPlain(string(p))
		at = p.stamp()
	}
	if err != nil && !errors.Is(err, errBusy) {
		at = p.stamp() // not again until it changes
	}
	return text, at, err
}

// moveAside renames the file, so that its contents are kept. An older one of that name is
// replaced.
func (p file) moveAside() error {
	if err := os.Rename(string(p), p.old()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("move %s aside: %w", p, err)
	}
	return nil
}

// write replaces the file, all or nothing.
func (p file) write(text []byte) error { return trustedfile.Write(string(p), text, 0o600) }

// locked is the open file while no other program changes it.
type locked struct {
	file  *os.File
	stamp stamp
}

// How long to wait for the lock, which is held only briefly.
const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

var errBusy = errors.New("another process holds its lock")

// locked creates the file if it does not exist, and uses it under its lock. Where the file
// system has no locks, it is used without.
func (p file) locked(use func(*locked) error) error {
	if err := os.MkdirAll(filepath.Dir(string(p)), 0o700); err != nil {
		return fmt.Errorf("keep the history of waits: %w", err)
	}
	for range lockTries {
		f, err := trustedfile.OpenOwn(string(p), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("open the history of waits: %w", err)
		}
		if err := p.checked(f, use); !errors.Is(err, errReplaced) {
			return err
		}
	}
	return fmt.Errorf("lock %s: %w", p, errBusy)
}

// errReplaced says that the file was replaced before it was locked.
var errReplaced = errors.New("it was replaced")

// checked uses an open file, and closes it, which also releases the lock.
func (p file) checked(f *os.File, use func(*locked) error) error {
	defer f.Close()
	if err := trustedfile.Check(string(p)); err != nil {
		return err
	}
	if err := lock(f); err != nil {
		return fmt.Errorf("lock %s: %w", p, err)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the history of waits: %w", err)
	}
	now := p.stamp()
	l := &locked{file: f, stamp: stampOf(info)}
	if now.device != l.stamp.device || now.inode != l.stamp.inode {
		return errReplaced
	}
	return use(l)
}

func lock(f *os.File) error {
	for range lockTries {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
			time.Sleep(lockPause)
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
			return nil // appended lines are written by one call each time
		default:
			return err
		}
	}
	return errBusy
}

// maxRead is more than any file of ours has: what is larger is cut, and its last line
// skipped.
const maxRead = 4 * MaxBytes

// read returns the contents.
func (l *locked) read() ([]byte, error) {
	text, err := io.ReadAll(io.NewSectionReader(l.file, 0, maxRead))
	if err != nil {
		return nil, fmt.Errorf("read the history of waits: %w", err)
	}
	return text, nil
}

// beginning returns what has to be written before new lines: the header of a new file, or
// the end of a line that was not written completely.
func (l *locked) beginning(fingerprint string) []byte {
	if l.stamp.size == 0 {
		return headerLine(fingerprint)
	}
	last := make([]byte, 1)
	if _, err := l.file.ReadAt(last, l.stamp.size-1); err == nil && last[0] != '\n' {
		return []byte("\n")
	}
	return nil
}

// append writes at the end, all or nothing.
func (l *locked) append(text []byte) error {
	if _, err := l.file.Write(text); err != nil {
		return errors.Join(fmt.Errorf("write the history of waits: %w", err), l.file.Truncate(l.stamp.size))
	}
	info, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("write the history of waits: %w", err)
	}
	l.stamp = stampOf(info)
	return nil
}
