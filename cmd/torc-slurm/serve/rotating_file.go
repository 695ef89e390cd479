package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

const (
	rotateSize = 10 << 20 // maximum size of a file in bytes
	rotateKeep = 5        // number of older files
)

// rotatingFile is a log file of limited size: a full one is renamed to <name>.1, <name>.1 to
// <name>.2, and so on.
type rotatingFile struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
}

func openRotating(path string) (*rotatingFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	r := &rotatingFile{path: path}
	return r, r.open()
}

func (r *rotatingFile) open() error {
	f, err := trustedfile.Append(r.path, 0o666)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	r.file, r.size = f, info.Size()
	return nil
}

// Write appends a record. A record is never split between two files.
func (r *rotatingFile) Write(record []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size > 0 && r.size+int64(len(record)) > rotateSize {
		if err := r.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := r.file.Write(record)
	r.size += int64(n)
	return n, err
}

func (r *rotatingFile) rotate() error {
	for i := rotateKeep - 1; i > 0; i-- {
		_ = os.Rename(fmt.Sprintf("%s.%d", r.path, i), fmt.Sprintf("%s.%d", r.path, i+1)) // there may be none
	}
	if err := os.Rename(r.path, r.path+".1"); err != nil {
		return err
	}
	r.file.Close()
	return r.open()
}

// Close closes the file.
func (r *rotatingFile) Close() { r.file.Close() }
