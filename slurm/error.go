package slurm

import (
	"errors"
	"strings"
)

// Class says what a failed call means for its caller.
type Class string

const (
	// Unavailable is a query without an answer: it failed, timed out, or its output
	// could not be parsed. It is no information.
	Unavailable Class = "unavailable"
	// Temporary is a rejected call that was certainly not carried out and may be repeated
	// later.
	Temporary Class = "temporary"
	// Limit is a rejection because the user or account has reached a limit. It no longer
	// applies when one of their jobs ends.
	Limit Class = "limit"
	// Permanent is a rejection of a request that would be rejected again in this form.
	Permanent Class = "permanent"
	// Ambiguous is a call that may or may not have been carried out. Check before repeating it.
	Ambiguous Class = "ambiguous"
	// NotFound is the answer of a healthy controller that knows no such job.
	NotFound Class = "not_found"
	// Shortage is a step for which Slurm finds no room in its allocation. If the caller
	// knows that there is room, Slurm's state is out of date: a controller that was
	// restarted still counts steps that ended while it was down.
	Shortage Class = "shortage"
	// Withheld is a call that was not made, because the budget of calls is spent.
	Withheld Class = "withheld"
)

// Error is a call that did not succeed.
type Error struct {
	Program  string
	Class    Class
	Code     string // Slurm's name of the error where it is known, such as "AssocMaxSubmitJobLimit"
	Text     string // what the program printed, in one line
	ExitCode int    // 0 if the program did not end by itself
	Err      error  // the cause, if the program could not be run or its output could not be parsed
}

func (e *Error) Error() string {
	text := e.Text
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if text == "" {
		text = "no reason given"
	}
	return e.Program + ": " + text
}

func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of an error of this package, or "".
func ClassOf(err error) Class {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// errorTable recognizes Slurm's messages, in this order. The texts are those of
// slurm_errno.c and of sbatch. From 20.11 to 24.11 they differ only in the spelling that
// the comments mention.
var errorTable = []struct {
	text  string // lower case, part of what the program wrote
	code  string
	class Class
}{
	// It may have been carried out.
	{"socket timed out on send/recv", "SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT", Ambiguous},
	{"zero bytes were transmitted or received", "SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT", Ambiguous},
	{"unexpected message received", "SLURM_UNEXPECTED_MSG_ERROR", Ambiguous},
	{"receive failure", "SLURM_COMMUNICATIONS_RECEIVE_ERROR", Ambiguous}, // of a message, and of "unable to contact slurm controller"
	{"send failure", "SLURM_COMMUNICATIONS_SEND_ERROR", Ambiguous},
	{"shutdown failure", "SLURM_COMMUNICATIONS_SHUTDOWN_ERROR", Ambiguous},
	{"insane message length", "SLURM_PROTOCOL_INSANE_MSG_LENGTH", Ambiguous},
	{"submission failed: connection timed out", "ETIMEDOUT", Ambiguous},
	{"submission failed: connection reset by peer", "ECONNRESET", Ambiguous},
	{"submission failed: broken pipe", "EPIPE", Ambiguous},
	{"submission failed: input/output error", "EIO", Ambiguous},
	{"submission failed: interrupted system call", "EINTR", Ambiguous},
	{"submission failed: no error", "SLURM_SUCCESS", Ambiguous},

	// A limit of the user or account is reached.
	{"assocmaxsubmitjoblimit", "AssocMaxSubmitJobLimit", Limit},
	{"assocgrpsubmitjobslimit", "AssocGrpSubmitJobsLimit", Limit},
	{"assocmaxjobslimit", "AssocMaxJobsLimit", Limit},
	{"qosmaxsubmitjobperuserlimit", "QOSMaxSubmitJobPerUserLimit", Limit},
	{"qosmaxsubmitjobperaccountlimit", "QOSMaxSubmitJobPerAccountLimit", Limit},
	{"qosgrpsubmitjobslimit", "QOSGrpSubmitJobsLimit", Limit},
	{"qosmaxjobsperuserlimit", "QOSMaxJobsPerUserLimit", Limit},
	{"maximum number of jobs", "ESLURM_MAX_JOB_COUNT", Limit},

	// It will be rejected again.
	{"qosmaxwalldurationperjoblimit", "QOSMaxWallDurationPerJobLimit", Permanent},
	{"assocmaxwalldurationperjoblimit", "AssocMaxWallDurationPerJobLimit", Permanent},
	{"qosmaxcpuperjoblimit", "QOSMaxCpuPerJobLimit", Permanent},
	{"qosmaxnodeperjoblimit", "QOSMaxNodePerJobLimit", Permanent},
	{"qosmaxmemoryperjob", "QOSMaxMemoryPerJob", Permanent},
	{"qosmincpunotsatisfied", "QOSMinCpuNotSatisfied", Permanent},
	{"invalid account or account/partition", "ESLURM_INVALID_ACCOUNT", Permanent},
	{"invalid qos specification", "ESLURM_INVALID_QOS", Permanent},
	{"invalid partition", "ESLURM_INVALID_PARTITION_NAME", Permanent},
	{"requested time limit is invalid", "ESLURM_INVALID_TIME_LIMIT", Permanent},
	{"invalid --time specification", "ESLURM_INVALID_TIME_LIMIT", Permanent},
	{"invalid time limit", "ESLURM_INVALID_TIME_LIMIT", Permanent},
	{"node configuration is not available", "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE", Permanent},
	{"requested partition configuration not available now", "ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE", Permanent},
	{"more processors requested than permitted", "ESLURM_TOO_MANY_REQUESTED_CPUS", Permanent},
	{"node count specification invalid", "ESLURM_INVALID_NODE_COUNT", Permanent},
	{"invalid node name", "ESLURM_INVALID_NODE_NAME", Permanent},
	{"invalid feature specification", "ESLURM_INVALID_FEATURE", Permanent},
	{"invalid generic resource", "ESLURM_INVALID_GRES", Permanent},
	{"invalid trackable resource", "ESLURM_INVALID_TRES", Permanent},
	{"invalid license specification", "ESLURM_INVALID_LICENSES", Permanent},
	{"requested reservation is invalid", "ESLURM_RESERVATION_INVALID", Permanent},
	{"invalid wckey", "ESLURM_INVALID_WCKEY", Permanent},
	{"memory specification can not be satisfied", "ESLURM_INVALID_TASK_MEMORY", Permanent},
	{"memory required by task is not available", "ESLURM_INVALID_TASK_MEMORY", Permanent},
	{"job dependency problem", "ESLURM_DEPENDENCY", Permanent},
	{"user's group not permitted", "ESLURM_USER_ID_MISSING", Permanent},
	{"user not authorized", "ESLURM_ACCESS_DENIED", Permanent},
	{"access/permission denied", "ESLURM_ACCESS_DENIED", Permanent},
	{"access denied", "ESLURM_ACCESS_DENIED", Permanent},
	{"pathname of a file, directory or other parameter too long", "ESLURM_PATHNAME_TOO_LONG", Permanent},
	{"no partition specified or system default partition", "ESLURM_DEFAULT_PARTITION_NOT_SET", Permanent},
	{"cpu count per node can not be satisfied", "", Permanent},
	{"requested topology configuration is not available", "ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE", Permanent},
	{"burst buffer permission denied", "ESLURM_BURST_BUFFER_PERMISSION", Permanent},
	{"batch job submission failed: invalid", "", Permanent},
	// Errors that sbatch finds before it contacts the controller.
	{"sbatch: error: invalid ", "", Permanent},
	{"is not a valid node count", "", Permanent},
	{"is less than minimum node count", "", Permanent},
	{"error opening file", "", Permanent},
	{"unrecognized --", "", Permanent},
	{"unrecognized option", "", Permanent},
	{"unable to open file", "", Permanent},
	{"this does not look like a batch script", "", Permanent},
	{"batch script is empty", "", Permanent},
	{"batch script contains dos line breaks", "", Permanent},

	// A limit of size or of number. Slurm does not say which of the two, or it also writes
	// one of the codes above.
	{"job violates accounting/qos policy", "ESLURM_ACCOUNTING_POLICY", Limit},

	// The job does not exist.
	{"invalid job id specified", "ESLURM_INVALID_JOB_ID", NotFound},
	{"job/step already completing or completed", "ESLURM_ALREADY_DONE", NotFound},

	// Not carried out, and may be repeated.
	{"unable to contact slurm controller", "SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR", Temporary},
	{"slurm temporarily unable to accept job", "ESLURM_ERROR_ON_DESC_TO_RECORD_COPY", Temporary},
	{"slurm backup controller in standby mode", "ESLURM_IN_STANDBY_MODE", Temporary},
	{"resource temporarily unavailable", "EAGAIN", Temporary},
	{"connection refused", "ECONNREFUSED", Temporary},
	{"unable to establish connection", "", Temporary},
	{"unable to accept new jobs", "", Temporary},
	{"job submission is disabled", "ESLURM_DISABLED", Temporary},
	{"configuration source", "", Temporary},
	{"protocol authentication error", "SLURM_PROTOCOL_AUTHENTICATION_ERROR", Temporary},
	{"munge encode failed", "", Temporary},
	{"required partition not available", "ESLURM_PARTITION_NOT_AVAIL", Temporary},
	{"required node not available", "ESLURM_NODE_NOT_AVAIL", Temporary},
	{"partition in down state", "ESLURM_PARTITION_DOWN", Temporary},
	{"i/o error writing script/environment to file", "ESLURM_WRITING_TO_FILE", Temporary},
	{"communication connection failure", "SLURM_COMMUNICATIONS_CONNECTION_ERROR", Temporary},

	// A rejection with a text of the site, or of another version: a job_submit plugin
	// writes its own text, and Slurm adds "Unspecified error".
	{"batch job submission failed:", "", Permanent},
	{"allocation failure:", "", Permanent}, // of sbatch --test-only
}

// recognize returns code and class of the error in a program's output.
func recognize(text string) (code string, class Class, ok bool) {
	text = strings.ToLower(text)
	for _, row := range errorTable {
		if strings.Contains(text, row.text) {
			return row.code, row.class, true
		}
	}
	return "", "", false
}

// oneLine joins the lines of a program's messages; repeated lines occur once.
func oneLine(stderr []byte) string {
	var lines []string
	for line := range strings.Lines(string(stderr)) {
		line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
		if line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
	}
	const limit = 1000
	text := strings.Join(lines, "; ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
