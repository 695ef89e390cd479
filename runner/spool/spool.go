// Package spool keeps reports of runners in a file until the daemon has recorded them,
// so that they survive a crash of the runner and outages of the daemon. It also keeps
// which attempts were being started, which the daemon may not know if the runner is
// killed. Each runner process writes a file of its own.
//
// A file is a sequence of frames: length (4 bytes), CRC-32C of the rest (4),
// kind (1), JSON (length bytes); numbers are little endian. The first frame is
// the Header. A frame that is incomplete or damaged ends the file: its writer was killed
// in the middle of a write, before it sent that report.
package spool

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Ending is the file name extension of spool files.
const Ending = ".reports"

// Header identifies the runner that writes a file.
type Header struct {
	Database   string `json:"database,omitempty"` // empty if unknown
	WorkflowID int64  `json:"workflow_id"`
	RunID      int64  `json:"run_id"`
	RunnerID   int64  `json:"runner_id"`
	Key        string `json:"key"` // of the runner
	Hostname   string `json:"hostname"`
	PID        int    `json:"pid"`
	BootID     string `json:"boot_id"`
}

// frame kinds
const (
	kindHeader byte = 'H'
	kindReport byte = 'R'
	kindDone   byte = 'D' // the daemon has answered that many more reports
	kindStart  byte = 'S' // an attempt that is being started; without a time: it was not started
)

const frameHead = 9

// maxFrame limits the size of a frame; reports are far smaller.
const maxFrame = 16 << 20

// compactSize is the size from which on a file without pending reports is compacted.
const compactSize = 1 << 20

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Writer appends to a spool file. It is not safe for concurrent use.
type Writer struct {
	file    *os.File
	path    string
	header  int64 // size of its frame
	size    int64
	pending int // reports that the daemon has not answered
	started map[lease.LeaseRef]lease.Held
	buf     bytes.Buffer
}

// Create creates the file of a new runner in dir and locks it, so that others know that
// its writer is alive. It gets its name once it is locked.
func Create(dir string, h Header) (*Writer, error) {
	path := filepath.Join(dir, fmt.Sprintf("wf%d_%s_%s%s", h.WorkflowID, h.Hostname, h.Key, Ending))
	file, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create spool file: %w", err)
	}
	w := &Writer{file: file, path: path, started: make(map[lease.LeaseRef]lease.Held)}
	if err := w.begin(h); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return w, nil
}

func (w *Writer) begin(h Header) error {
	if err := lock(w.file); err != nil && !errors.Is(err, errNoLocks) {
		return err
	}
	if err := w.frame(kindHeader, h); err != nil {
		return err
	}
	w.header = int64(w.buf.Len())
	if err := w.flush(); err != nil {
		return err
	}
	return os.Rename(w.file.Name(), w.path)
}

// Start writes that an attempt is being started. This survives the process, but not a
// crash of the node, after which no job would be left either.
func (w *Writer) Start(attempt lease.Held) error {
	if err := w.frame(kindStart, attempt); err != nil {
		w.buf.Reset()
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.started[attempt.LeaseRef] = attempt
	return nil
}

// NotStarted revokes Start for an attempt that was not started.
func (w *Writer) NotStarted(ref lease.LeaseRef) error {
	if _, written := w.started[ref]; !written {
		return nil
	}
	if err := w.frame(kindStart, lease.Held{LeaseRef: ref}); err != nil {
		w.buf.Reset()
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	delete(w.started, ref)
	return nil
}

// Append writes reports. With sync they survive a crash of the node, else only of the
// process. After an error none of them is in the file.
func (w *Writer) Append(reports []lease.Report, sync bool) error {
	if len(reports) == 0 {
		return nil
	}
	for i := range reports {
		if err := w.frame(kindReport, &reports[i]); err != nil {
			w.buf.Reset()
			return err
		}
	}
	before := w.size
	if err := w.flush(); err != nil {
		return err
	}
	if sync {
		if err := w.file.Sync(); err != nil {
			w.size = before
			return errors.Join(fmt.Errorf("sync spool file: %w", err), w.file.Truncate(before))
		}
	}
	w.pending += len(reports)
	for i := range reports {
		delete(w.started, reports[i].LeaseRef)
	}
	return nil
}

// Done records that the daemon has answered the oldest n reports.
func (w *Writer) Done(n int) error {
	if n <= 0 {
		return nil
	}
	w.pending -= n
	if w.pending <= 0 && w.size > compactSize {
		return w.compact()
	}
	if err := w.frame(kindDone, n); err != nil {
		return err
	}
	return w.flush()
}

// Close closes the file, and removes it if everything in it was answered.
func (w *Writer) Close() error {
	var err error
	if w.pending <= 0 {
		if err = os.Remove(w.path); errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			err = nil // it was delivered by another process, or the directory was removed
		}
	}
	return errors.Join(err, w.file.Close())
}

// Restore recreates a file that was removed, from the open descriptor.
func (w *Writer) Restore() error {
	file, err := os.OpenFile(w.path+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create spool file: %w", err)
	}
	if err = lock(file); errors.Is(err, errNoLocks) {
		err = nil
	}
	if err == nil {
		_, err = io.Copy(file, io.NewSectionReader(w.file, 0, w.size))
	}
	if err == nil {
		err = os.Rename(file.Name(), w.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write spool file: %w", err), file.Close(), os.Remove(w.path+".new"))
	}
	old := w.file
	w.file = file
	return old.Close()
}

// compact drops the frames of a file without pending reports. It keeps the header,
// without which later frames could not be read.
func (w *Writer) compact() error {
	if err := w.file.Truncate(w.header); err != nil {
		return fmt.Errorf("truncate spool file: %w", err)
	}
	w.size = w.header
	for _, attempt := range w.started {
		if err := w.frame(kindStart, attempt); err != nil {
			w.buf.Reset()
			return err
		}
	}
	return w.flush()
}

func (w *Writer) frame(kind byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode spool frame: %w", err)
	}
	var head [frameHead]byte
	binary.LittleEndian.PutUint32(head[0:], uint32(len(data)))
	head[8] = kind
	sum := crc32.Update(crc32.Checksum(head[8:], crcTable), crcTable, data)
	binary.LittleEndian.PutUint32(head[4:], sum)
	w.buf.Write(head[:])
	w.buf.Write(data)
	return nil
}

// flush writes the buffered frames. After an error it truncates a partial write, so that
// later frames can be read.
func (w *Writer) flush() error {
	n, err := w.file.WriteAt(w.buf.Bytes(), w.size)
	w.buf.Reset()
	if err != nil {
		return errors.Join(fmt.Errorf("write spool file: %w", err), w.file.Truncate(w.size))
	}
	w.size += int64(n)
	return nil
}

// flock is replaced in the test of a file system without locks.
var flock = unix.Flock

// lock locks a file. It returns errHeld if it is locked, and errNoLocks if the file
// system has no locks.
func lock(file *os.File) error {
	err := flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return errHeld
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOLCK):
		return errNoLocks
	case err != nil:
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return nil
}

var (
	errHeld    = errors.New("the file is locked by another process")
	errNoLocks = errors.New("the file system has no locks")
)
