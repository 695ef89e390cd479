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

// ledger is a file in which the processes of a user on a host record when they
// ran a program of Slurm, so that their calls count together. It holds the calls of
// the last window, one per line: milliseconds since 1970.
type ledger struct {
	path string
	open func(path string, flags int, perm fs.FileMode) (*os.File, error)
}

// How long to wait for the lock of a ledger, which is held only briefly.
const (
	ledgerTries = 50
	ledgerPause = 10 * time.Millisecond
)

var errLedgerBusy = errors.New("another process holds its lock")

// update reads when calls were made, and writes the result of change. After an
// error, change was not called.
func (l ledger) update(change func(recent []time.Time) []time.Time) error {
	f, err := l.open(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // also releases the lock
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
	// If a crash truncates it, fewer calls are counted for a minute.
	if err := f.Truncate(0); err != nil {
		return nil //nolint:nilerr // it could be read, which is what matters
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

// parseLedger returns the times in a ledger; invalid lines are ignored.
func parseLedger(text []byte) []time.Time {
	var times []time.Time
	for line := range bytes.Lines(text) {
		if ms, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64); err == nil {
			times = append(times, time.UnixMilli(ms))
		}
	}
	return times
}
