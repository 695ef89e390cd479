package spool

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Contents is the contents of a spool file.
type Contents struct {
	Path   string
	Header Header
	// Reports are all reports in the file. The daemon has answered the first Answered
	// of them.
	Reports  []lease.Report
	Answered int
	// Starts are the attempts whose start began.
	Starts []lease.Held
	// Cut says that the file ends in the middle of a frame or in a damaged one.
	Cut bool
}

// Pending returns the reports that the daemon has not answered.
func (c *Contents) Pending() []lease.Report { return c.Reports[min(c.Answered, len(c.Reports)):] }

// Unreported returns the attempts that were started and not reported.
func (c *Contents) Unreported() (left []lease.Held) {
	reported := make(map[lease.LeaseRef]bool, len(c.Reports))
	for i := range c.Reports {
		reported[c.Reports[i].LeaseRef] = true
	}
	for _, s := range c.Starts {
		if !reported[s.LeaseRef] {
			left = append(left, s)
		}
	}
	return left
}

// Read returns the contents of a spool file, of a live or a dead writer. It returns an
// error if it cannot be read or is not a spool file.
func Read(path string) (*Contents, error) {
	file, err := trustedfile.OpenOwn(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c, err := decode(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("spool file %s: %w", path, err)
	}
	c.Path = path
	return c, nil
}

// Files returns the spool files in a directory, none if it does not exist.
func Files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("list spool files: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), Ending) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

var errCut = errors.New("cut off or damaged")

func decode(in io.Reader) (*Contents, error) {
	c := &Contents{}
	kind, data, err := readFrame(in)
	if err != nil {
		return nil, err
	}
	if kind != kindHeader {
		return nil, errors.New("does not start with a header")
	}
	if err := json.Unmarshal(data, &c.Header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	for {
		kind, data, err := readFrame(in)
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if errors.Is(err, errCut) {
			c.Cut = true
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		if err := c.add(kind, data); err != nil {
			return nil, err
		}
	}
}

func (c *Contents) add(kind byte, data []byte) error {
	switch kind {
	case kindReport:
		var r lease.Report
		if err := json.Unmarshal(data, &r); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		c.Reports = append(c.Reports, r)
	case kindDone:
		var n int
		if err := json.Unmarshal(data, &n); err != nil {
			return fmt.Errorf("count of answers: %w", err)
		}
		c.Answered += n
	case kindStart:
		var s lease.Held
		if err := json.Unmarshal(data, &s); err != nil {
			return fmt.Errorf("start: %w", err)
		}
		if s.StartedMS == 0 {
			c.Starts = slices.DeleteFunc(c.Starts, func(other lease.Held) bool { return other.LeaseRef == s.LeaseRef })
			return nil
		}
		c.Starts = append(c.Starts, s)
	}
	return nil // ignore kinds of later releases
}

// readFrame returns the kind and the data of the next frame. It returns io.EOF at the end,
// and errCut for a frame that is incomplete or damaged.
func readFrame(in io.Reader) (byte, []byte, error) {
	var head [frameHead]byte
	switch _, err := io.ReadFull(in, head[:]); {
	case errors.Is(err, io.EOF):
		return 0, nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, nil, errCut
	case err != nil:
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(head[0:])
	if size > maxFrame {
		return 0, nil, errCut
	}
	data := make([]byte, size)
	switch _, err := io.ReadFull(in, data); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return 0, nil, errCut
	case err != nil:
		return 0, nil, err
	}
	sum := crc32.Update(crc32.Checksum(head[8:], crcTable), crcTable, data)
	if sum != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, errCut
	}
	return head[8], data, nil
}

// Abandoned is the spool file of a dead writer. It is locked, so that only one runner
// delivers it.
type Abandoned struct {
	Contents
	file *os.File
}

// TakeOver returns the spool files in dir whose writers are dead, and which are of the
// same workflow, database and host as h. It passes damaged files to warn and keeps them.
func TakeOver(dir string, h Header, warn func(path string, err error)) ([]*Abandoned, error) {
	paths, err := Files(dir)
	if err != nil {
		return nil, err
	}
	var taken []*Abandoned
	for _, path := range paths {
		a, err := takeOver(path, h)
		if err != nil {
			warn(path, err)
		}
		if a != nil {
			taken = append(taken, a)
		}
	}
	return taken, nil
}

// takeOver returns nil for a file that is not to be taken over.
func takeOver(path string, h Header) (*Abandoned, error) {
	file, err := trustedfile.OpenOwn(path, os.O_RDWR, 0)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	locked := lock(file)
	if locked != nil && !errors.Is(locked, errNoLocks) {
		return nil, file.Close()
	}
	c, err := Read(path)
	switch {
	case err != nil,
		c.Header.Database != h.Database || c.Header.WorkflowID != h.WorkflowID || c.Header.Hostname != h.Hostname,
		locked != nil && c.Header.mayLive(h.BootID):
		return nil, errors.Join(err, file.Close())
	}
	return &Abandoned{Contents: *c, file: file}, nil
}

// Delivered removes the file, after the daemon has answered everything in it.
func (a *Abandoned) Delivered() error {
	return errors.Join(os.Remove(a.Path), a.file.Close())
}

// Release unlocks the file for another runner.
func (a *Abandoned) Release() error { return a.file.Close() }

// mayLive reports whether the writer may be alive, judged by its process id.
func (h *Header) mayLive(bootID string) bool {
	return h.BootID == bootID && !errors.Is(unix.Kill(h.PID, 0), unix.ESRCH)
}

// Remove removes a file whose reports are all recorded. It keeps that of a writer that
// may be alive, which removes the file itself.
func Remove(path string) error {
	file, err := trustedfile.OpenOwn(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // another process has delivered it
	}
	if err != nil {
		return err
	}
	defer file.Close()
	switch err := lock(file); {
	case errors.Is(err, errHeld), errors.Is(err, errNoLocks):
		return nil
	case err != nil:
		return err
	}
	return os.Remove(path)
}
