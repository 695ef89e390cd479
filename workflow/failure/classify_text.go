package failure

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Signals by which processes are usually ended from outside.
const (
	sigKill = 9
	sigTerm = 15
)

// signalNames has the Linux signals that can end a process.
var signalNames = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	16: "SIGSTKFLT", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS",
}

// SignalName returns a signal's name, for example SIGKILL.
func SignalName(signal int) string {
	if name, ok := signalNames[signal]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", signal)
}

// signalOfCode returns the signal that a shell reports as an exit code; 0 if the code does
// not stand for one.
func signalOfCode(code int64) int {
	if code > 128 && code < 128+64 {
		if n := int(code - 128); signalNames[n] != "" {
			return n
		}
	}
	return 0
}

// saysDiskFull reports whether a command's output mentions a full disk or an exceeded quota.
func saysDiskFull(stderr string) bool {
	stderr = strings.ToLower(stderr)
	for _, words := range []string{"no space left on device", "disk quota exceeded", "enospc", "edquot"} {
		if strings.Contains(stderr, words) {
			return true
		}
	}
	return false
}

// endText returns how the process ended: "exit code 3", "SIGKILL"; "" if that is unknown.
func (x *examination) endText() string {
	switch {
	case x.Signal > 0:
		return SignalName(x.Signal)
	case x.ExitCode == nil:
		return ""
	}
	text := fmt.Sprintf("exit code %d", *x.ExitCode)
	switch {
	case *x.ExitCode == workflow.ReturnCodeCommandNotFound:
		text += " (from a shell: command not found)"
	case *x.ExitCode == workflow.ReturnCodeCannotExecute:
		text += " (from a shell: command cannot be executed)"
	case signalOfCode(*x.ExitCode) != 0:
		text += " (" + SignalName(signalOfCode(*x.ExitCode)) + ")"
	}
	return text
}

// oomText returns a text such as "OOM: 1 cgroup kill, peak 3.98 of 4.00 GiB, SIGKILL".
func (x *examination) oomText(first string) string {
	end := x.endText()
	if end == first {
		end = ""
	}
	return "OOM: " + workflow.JoinText(first, x.killsText(), x.peakText(), end)
}

func (x *examination) peakText() string {
	limit := x.memoryLimit()
	switch {
	case x.PeakMemoryBytes > 0 && limit > 0:
		return "peak " + formatPair(x.PeakMemoryBytes, limit)
	case x.PeakMemoryBytes > 0:
		return "peak " + workflow.FormatBytes(x.PeakMemoryBytes)
	case limit > 0:
		return "limit " + workflow.FormatBytes(limit)
	}
	return ""
}

// memoryLimit returns the enforced limit, or else the declared memory; 0 if there is none.
func (x *examination) memoryLimit() int64 {
	if x.MemoryLimitBytes > 0 || x.requirements == nil || !x.requirements.Enforced() {
		return x.MemoryLimitBytes
	}
	bytes, err := workflow.ParseMemory(x.requirements.Memory)
	if err != nil {
		return 0
	}
	return bytes
}

// formatPair returns "3.98 of 4.00 GiB", with both units if they differ.
func formatPair(part, whole int64) string {
	a, b := workflow.FormatBytes(part), workflow.FormatBytes(whole)
	if number, unit, _ := strings.Cut(a, " "); strings.HasSuffix(b, " "+unit) {
		a = number
	}
	return a + " of " + b
}

func (x *examination) timeoutText() string {
	limit := ""
	if x.RunLimitSeconds > 0 {
		limit = "limit " + workflow.FormatSeconds(x.RunLimitSeconds)
	}
	return workflow.JoinText("exceeded its time limit", limit, x.endText())
}

func (x *examination) missingText() string {
	n := max(x.MissingOutputCount, len(x.MissingOutputs))
	if n == 0 {
		return ""
	}
	const shown = 3
	text := workflow.CountOf(int64(n), "output file", "output files") + " missing"
	if len(x.MissingOutputs) == 0 {
		return text
	}
	text += ": " + strings.Join(x.MissingOutputs[:min(shown, len(x.MissingOutputs))], ", ")
	if n > shown {
		text += ", ..."
	}
	return text
}

// successText returns the text for a success, with what did not change the outcome but may
// matter.
func (x *examination) successText() string {
	text := workflow.JoinText("exit code 0", x.meanwhileText())
	if x.KilledBy != "" {
		text = workflow.JoinText(text, "while being stopped")
	}
	return workflow.JoinText(text, x.Note)
}

func (x *examination) spawnErrorText() string {
	if x.SpawnError == "" {
		return fmt.Sprintf("errno %d", x.SpawnErrno)
	}
	return x.SpawnError
}
