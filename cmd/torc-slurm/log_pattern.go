package main

import "regexp"

// severity says how bad a line of a log is.
type severity string

// The severities.
const (
	severityError   severity = "error"
	severityWarning severity = "warning"
)

// logPattern is a kind of line that tells of trouble.
type logPattern struct {
	line        *regexp.Regexp
	description string
	severity    severity
}

// logPatterns are tried in this order; the first that matches a line names it.
// The particular ones stand before the general ones.
var logPatterns = compilePatterns([]struct {
	line, description string
	severity          severity
}{
	{`(?i)out of memory|oom[-_ ]kill|cannot allocate memory|memory cgroup out of memory|exceeded (?:job |step )?memory limit|task/cgroup.*killed`, "out of memory", severityError},
	{`\bMemoryError\b|std::bad_alloc`, "out of memory", severityError},
	{`(?i)cuda out of memory|gpu memory.*exceeded`, "out of GPU memory", severityError},
	{`(?i)cuda error|cudaError`, "GPU error", severityError},
	{`(?i)due to time limit`, "time limit reached", severityError},
	{`(?i)due to preemption`, "preempted", severityWarning},
	{`(?i)due to job requeue`, "requeued", severityWarning},
	{`(?i)node_fail|(?:due to|error:) node failure`, "node failure", severityError},
	{`(?i)due to job not ending with signals`, "processes that SIGKILL did not end", severityError},
	{`(?i)\bcancelled at\b|\bcancelled\b.*\bby\b|\bCANCELLED\b`, "canceled", severityWarning},
	{`(?i)no space left on device`, "disk full", severityError},
	{`(?i)disk quota exceeded`, "disk quota exceeded", severityError},
	{`(?i)read-only file system`, "read-only file system", severityError},
	{`(?i)connection refused|connection timed out|network is unreachable`, "network failure", severityError},
	{`(?i)segmentation fault|\bsigsegv\b`, "segmentation fault", severityError},
	{`(?i)bus error|\bsigbus\b`, "bus error", severityError},
	{`(?i)killed by signal|core dumped`, "killed by a signal", severityError},
	{`^Traceback \(most recent call last\)`, "Python exception", severityError},
	{`\bModuleNotFoundError\b|\bImportError\b`, "Python module missing", severityError},
	{`(?i)permission denied`, "permission denied", severityError},
	{`(?i)couldn't chdir`, "working directory missing on the node", severityError},
	{`(?i)command not found|no such file or directory`, "program or file missing", severityError},
	{`(?i)unable to contact slurm controller|socket timed out on send/recv`, "Slurm does not answer", severityError},
	{`(?i)slurmstepd\S*: error:`, "error of the Slurm step", severityError},
	{`(?i)srun: error:`, "error of srun", severityError},
	{`\blevel=ERROR\b|"level":"ERROR"`, "error of the runner", severityError},
	{`\blevel=WARN\b|"level":"WARN"`, "warning of the runner", severityWarning},
	{`\bFAILED\b`, "failed", severityError},
	{`(?i)^\s*(?:fatal|panic)\b`, "fatal error", severityError},
	{`(?i)^\s*error\b|\berror:`, "error", severityError},
	{`(?i)^\s*warning\b|\bwarning:`, "warning", severityWarning},
})

func compilePatterns(sources []struct {
	line, description string
	severity          severity
}) []logPattern {
	patterns := make([]logPattern, len(sources))
	for i, s := range sources {
		patterns[i] = logPattern{regexp.MustCompile(s.line), s.description, s.severity}
	}
	return patterns
}

// matchLine names a line that tells of trouble.
func matchLine(line string) (logPattern, bool) {
	for _, p := range logPatterns {
		if p.line.MatchString(line) {
			return p, true
		}
	}
	return logPattern{}, false
}
