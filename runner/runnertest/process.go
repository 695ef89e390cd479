package runnertest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// Patience bounds the waiting for things that happen in milliseconds.
const Patience = 20 * time.Second

// tester is a test.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Process names a process for good: a pid alone is used again.
type Process struct {
	PID   int
	Start string // as /proc says; empty if it had ended by then
}

// ProcessIn waits for a pid that a process writes to a file.
func ProcessIn(t tester, path string) Process {
	t.Helper()
	var p Process
	Eventually(t, "a pid in "+path, func() bool {
		data, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(string(data), "\n") {
			return false
		}
		p.PID, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	p.Start, _ = stat(p.PID)
	return p
}

// Alive reports whether the process runs; a zombie does not, and a pid may have passed
// to another one.
func (p Process) Alive() bool {
	start, dead := stat(p.PID)
	return start != "" && start == p.Start && !dead
}

// stat reads when a process began, and whether it waits to be reaped; no start if it is
// not there.
func stat(pid int) (start string, dead bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	state := string(fields[0])
	return string(fields[19]), state == "Z" || state == "X"
}

// Eventually waits for a condition.
func Eventually(t tester, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", Patience, what)
		case <-tick.C:
		}
	}
}
