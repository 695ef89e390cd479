package outputdir

import (
	"os"
	"sync"

	"github.com/torc-slurm/torc-slurm/runner"
)

// Log is a log file in an output directory. It is created again when the directory is.
type Log struct {
	open func() (*os.File, error)

	mu   sync.Mutex
	file *os.File
}

// OpenLog opens the log of a runner. It extends the option RestoreOutput, so that the runner
// creates the log again if the output directory was removed. It returns the error of open.
func OpenLog(o *runner.Options, open func() (*os.File, error)) (*Log, error) {
	file, err := open()
	if err != nil {
		return nil, err
	}
	l := &Log{open: open, file: file}
	before := o.RestoreOutput
	o.RestoreOutput = func() error {
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		return l.restore()
	}
	return l, nil
}

// Write appends to the file.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}

func (l *Log) restore() error {
	file, err := l.open()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.file
	l.file = file
	return old.Close()
}

// Name returns the path of the log.
func (l *Log) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Name()
}

// Close closes the file.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.Close()
}
