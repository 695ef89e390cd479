package runnertest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// Patience limits how long Eventually waits.
const Patience = 20 * time.Second

// tester is the part of testing.TB that is needed.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Process identifies a process; a pid alone is reused.
type Process struct {
	PID   int
	Start string // as /proc says; empty if it had ended by then
}

// ProcessIn waits for the pid that a process writes to a file, and returns the process.
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

// Alive reports whether the process runs and is not a zombie.
func (p Process) Alive() bool {
	start, dead := stat(p.PID)
	return start != "" && start == p.Start && !dead
}

// stat returns the start time of a process, and whether it is a zombie; no start if it
// does not exist.
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
