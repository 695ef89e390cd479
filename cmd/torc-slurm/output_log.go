package main

import (
	"os"
	"sync"

	"github.com/torc-slurm/torc-slurm/runner"
)

// outputLog is a log in an output directory, which is made again with that.
type outputLog struct {
	open func() (*os.File, error)

	mu   sync.Mutex
	file *os.File
}

// openOutputLog opens the log of a runner, and has the runner make it again if the
// output directory is removed.
func openOutputLog(o *runner.Options, open func() (*os.File, error)) (*outputLog, error) {
	file, err := open()
	if err != nil {
		return nil, err
	}
	l := &outputLog{open: open, file: file}
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

func (l *outputLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}

func (l *outputLog) restore() error {
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

// Name is the path of the log.
func (l *outputLog) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Name()
}

func (l *outputLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.Close()
}
