package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/torc-slurm/torc-slurm/server"
)

// ticksPerSecond is USER_HZ, which is 100 on every current Linux.
const ticksPerSecond = 100

// cpuTime returns the CPU time that a process has used so far.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may contain anything; utime and stime are the 12th and 13th
	// field after it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// rss returns the resident memory of a process in bytes.
func rss(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		return 0, err
	}
	return pages * int64(os.Getpagesize()), nil
}

// endDaemon ends the daemon of a home directory, which is its working directory, if there
// is one.
func endDaemon(home string) error {
	path := server.EndpointPath(home)
	text, err := os.ReadFile(path) // of the cluster's user, whom we need not trust: the pid is checked
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read endpoint file: %w", err)
	}
	e, err := server.ParseEndpoint(path, text)
	if err != nil {
		return err
	}
	if cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", e.PID)); cwd == home {
		return endProcess(e.PID)
	}
	return nil // it has died; if the pid is in use, then by another process
}

// endProcess ends a process that is not our child.
func endProcess(pid int) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for range 100 {
			if err := syscall.Kill(pid, signal); errors.Is(err, syscall.ESRCH) {
				return nil
			} else if err != nil {
				return fmt.Errorf("end process %d: %w", pid, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}
