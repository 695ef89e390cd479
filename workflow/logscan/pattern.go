// Package logscan finds lines in logs that report known errors, and their likely cause. It
// opens no files; the caller passes the text of the logs. The evidence of an attempt is a
// better source for why it ended (see package failure).
package logscan

import (
	"regexp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Severity says how bad a line of a log is.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Kind is a kind of line that reports a problem.
type Kind struct {
	Description string
	Severity    Severity
	// Cause is why a job with such a line most likely ended; empty if the line does not
	// tell.
	Cause workflow.CauseKind
}

// pattern recognizes the lines of a kind.
type pattern struct {
	line *regexp.Regexp
	kind Kind
}

// patterns are tried in this order, specific ones before general ones; the first match
// applies.
var patterns = compile([]struct {
	line, description string
	severity          Severity
	cause             workflow.CauseKind
}{
	{`(?i)out of memory|oom[-_ ]kill|cannot allocate memory|memory cgroup out of memory|exceeded (?:job |step )?memory limit|task/cgroup.*killed`, "out of memory", Error, workflow.CauseOOM},
	{`\bMemoryError\b|std::bad_alloc`, "out of memory", Error, workflow.CauseOOM},
	{`(?i)cuda out of memory|gpu memory.*exceeded`, "out of GPU memory", Error, ""},
	{`(?i)cuda error|cudaError`, "GPU error", Error, ""},
	{`(?i)due to time limit`, "time limit reached", Error, workflow.CauseWalltime},
	{`(?i)due to preemption`, "preempted", Warning, workflow.CausePreempted},
	{`(?i)due to job requeue`, "requeued", Warning, ""},
	{`(?i)node_fail|(?:due to|error:) node failure`, "node failure", Error, workflow.CauseNodeFail},
	{`(?i)due to job not ending with signals`, "processes not ended by SIGKILL", Error, ""},
	{`(?i)\bcancelled at\b|\bcancelled\b.*\bby\b|\bCANCELLED\b`, "canceled", Warning, ""},
	{`(?i)no space left on device`, "disk full", Error, workflow.CauseDiskFull},
	{`(?i)disk quota exceeded`, "disk quota exceeded", Error, ""},
	{`(?i)read-only file system`, "read-only file system", Error, ""},
	{`(?i)connection refused|connection timed out|network is unreachable`, "network failure", Error, ""},
	{`(?i)segmentation fault|\bsigsegv\b`, "segmentation fault", Error, workflow.CauseSignal},
	{`(?i)bus error|\bsigbus\b`, "bus error", Error, workflow.CauseSignal},
	{`(?i)killed by signal|core dumped`, "killed by a signal", Error, workflow.CauseSignal},
	{`^Traceback \(most recent call last\)`, "Python exception", Error, ""},
	{`\bModuleNotFoundError\b|\bImportError\b`, "Python module missing", Error, ""},
	{`(?i)permission denied`, "permission denied", Error, ""},
	{`(?i)couldn't chdir`, "working directory missing on the node", Error, ""},
	{`(?i)command not found|no such file or directory`, "program or file missing", Error, ""},
	{`(?i)unable to contact slurm controller|socket timed out on send/recv`, "Slurm does not answer", Error, ""},
	{`(?i)slurmstepd\S*: error:`, "error of the Slurm step", Error, ""},
	{`(?i)srun: error:`, "error of srun", Error, ""},
	{`\blevel=ERROR\b|"level":"ERROR"`, "error of the runner", Error, ""},
	{`\blevel=WARN\b|"level":"WARN"`, "warning of the runner", Warning, ""},
	{`\bFAILED\b`, "failed", Error, ""},
	{`(?i)^\s*(?:fatal|panic)\b`, "fatal error", Error, ""},
	{`(?i)^\s*error\b|\berror:`, "error", Error, ""},
	{`(?i)^\s*warning\b|\bwarning:`, "warning", Warning, ""},
})

func compile(sources []struct {
	line, description string
	severity          Severity
	cause             workflow.CauseKind
}) []pattern {
	compiled := make([]pattern, len(sources))
	for i, s := range sources {
		compiled[i] = pattern{regexp.MustCompile(s.line), Kind{s.description, s.severity, s.cause}}
	}
	return compiled
}

// Match returns the kind of a line that reports a problem; ok is false for other lines.
func Match(line string) (kind Kind, ok bool) {
	for _, p := range patterns {
		if p.line.MatchString(line) {
			return p.kind, true
		}
	}
	return Kind{}, false
}

// Patterns for the Slurm job and the node that a line names.
var (
	slurmJobInLine = regexp.MustCompile(`(?i)\b(?:job|step|StepId=|JobId=)\s*(\d+)(?:[.\s]|$)`)
	nodeInLine     = regexp.MustCompile(`\*\*\* (?:JOB|STEP) \S+ ON (\S+) |^srun: error: ([^\s:]+): tasks? |^srun: error: Node failure on (\S+)|^slurmstepd-([^\s:]+): `)
)

// SlurmJob returns the number of the Slurm job that a line names; "" if it names none.
func SlurmJob(line string) string {
	if match := slurmJobInLine.FindStringSubmatch(line); match != nil {
		return match[1]
	}
	return ""
}

// Node returns the node that a line of Slurm names; "" if it names none.
func Node(line string) string {
	for i, name := range nodeInLine.FindStringSubmatch(line) {
		if i > 0 && name != "" {
			return name
		}
	}
	return ""
}
