package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ledger is a file in which the processes of a user on a host note when they
// have run a program of Slurm, so that their calls count together. It holds
// those of the last window, a line each: milliseconds since 1970.
type ledger struct {
	path string
	open func(path string, flags int, perm fs.FileMode) (*os.File, error)
}

// Patience with the lock of a ledger, which is held for a moment only.
const (
	ledgerTries = 50
	ledgerPause = 10 * time.Millisecond
)

var errLedgerBusy = errors.New("somebody holds its lock")

// update reads when calls were made, and writes what change makes of it. With
// an error change was not called.
func (l ledger) update(change func(recent []time.Time) []time.Time) error {
	f, err := l.open(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // and give the lock back
	if err := lock(f); err != nil {
		return fmt.Errorf("lock %s: %w", l.path, err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	was := parseLedger(text)
	var b bytes.Buffer
	for _, t := range change(was) {
		fmt.Fprintln(&b, t.UnixMilli())
	}
	if bytes.Equal(b.Bytes(), text) {
		return nil
	}
	// Cut short by a crash it counts fewer calls, for a minute.
	if err := f.Truncate(0); err != nil {
		return nil //nolint:nilerr // it could be read: what counts has been done
	}
	_, _ = f.WriteAt(b.Bytes(), 0) // likewise
	return nil
}

func lock(f *os.File) error {
	for range ledgerTries {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		time.Sleep(ledgerPause)
	}
	return errLedgerBusy
}

// parseLedger leaves out what is no time.
func parseLedger(text []byte) []time.Time {
	var times []time.Time
	for line := range bytes.Lines(text) {
		if ms, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64); err == nil {
			times = append(times, time.UnixMilli(ms))
		}
	}
	return times
}
