package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestRefusals has messages that Slurm 22.05 was seen to print, and messages of other
// versions and sites as their documentation and users quote them.
func TestRefusals(t *testing.T) {
	const policy = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
	for _, tc := range []struct {
		text  string
		class Class
		code  string
	}{
		// Seen on 22.05.8.
		{"sbatch: error: QOSMaxSubmitJobPerUserLimit\n" + policy, Limit, "QOSMaxSubmitJobPerUserLimit"},
		{"sbatch: error: QOSMaxWallDurationPerJobLimit\n" + policy, Permanent, "QOSMaxWallDurationPerJobLimit"},
		{"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified", Permanent, "ESLURM_INVALID_ACCOUNT"},
		{"sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission failed: Invalid partition name specified", Permanent, "ESLURM_INVALID_PARTITION_NAME"},
		{"sbatch: error: Memory specification can not be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration is not available", Permanent, "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE"},
		{"sbatch: error: Invalid --time specification", Permanent, "ESLURM_INVALID_TIME_LIMIT"},
		{"sbatch: unrecognized option '--nosuch'\nTry \"sbatch --help\" for more information", Permanent, ""},
		{"sbatch: error: Batch job submission failed: Invalid qos specification", Permanent, "ESLURM_INVALID_QOS"},
		{"sbatch: error: Batch script is empty!", Permanent, ""},
		{"sbatch: error: invalid number of nodes (-N 2-1)", Permanent, ""},
		{"sbatch: error: Maximum node count 1 is less than minimum node count 2", Permanent, ""},
		{"sbatch: error: \"x\" is not a valid node count", Permanent, ""},
		{"sbatch: error: Invalid numeric value \"0\" for --cpus-per-task.", Permanent, ""},
		{"Invalid time specification (pos=0): never\nsbatch: error: Invalid --begin specification", Permanent, ""},
		{"sbatch: error: slurm_allocate_resources error opening file ./nope, No such file or directory", Permanent, ""},
		{"sbatch: error: unrecognized --hint argument \"x\", see --hint=help", Permanent, ""},
		{"slurm_load_jobs error: Invalid job id specified", NotFound, "ESLURM_INVALID_JOB_ID"},
		{"slurm_load_partitions: Unable to contact slurm controller (connect failure)", Temporary, "SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR"},
		{"sbatch: error: Munge encode failed: Failed to access \"/run/munge/munge.socket.2\": No such file or directory", Temporary, ""},
		{"sacct: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\nsacct: fatal: Could not establish a configuration source", Temporary, ""},

		// Quoted from other versions and sites.
		{"sbatch: error: AssocMaxSubmitJobLimit\n" + policy, Limit, "AssocMaxSubmitJobLimit"},
		{"sbatch: error: AssocGrpSubmitJobsLimit\n" + policy, Limit, "AssocGrpSubmitJobsLimit"},
		{"sbatch: error: QOSMaxJobsPerUserLimit\n" + policy, Limit, "QOSMaxJobsPerUserLimit"},
		{policy, Limit, "ESLURM_ACCOUNTING_POLICY"},
		{"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", Ambiguous, "SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT"},
		{"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\nsbatch: error: Batch job submission failed: Socket timed out on send/recv operation", Ambiguous, "SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT"},
		{"sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received", Ambiguous, "SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT"},
		{"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying", Temporary, "ESLURM_ERROR_ON_DESC_TO_RECORD_COPY"},
		{"sbatch: error: Batch job submission failed: Resource temporarily unavailable", Temporary, "EAGAIN"},
		{"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", Temporary, "SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR"},
		{"sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)", Permanent, "ESLURM_INVALID_TIME_LIMIT"},
		{"sbatch: error: Batch job submission failed: Node count specification invalid", Permanent, "ESLURM_INVALID_NODE_COUNT"},
		{"sbatch: error: Batch job submission failed: More processors requested than permitted", Permanent, "ESLURM_TOO_MANY_REQUESTED_CPUS"},
		{"sbatch: error: Batch job submission failed: User's group not permitted to use this partition", Permanent, "ESLURM_USER_ID_MISSING"},
		{"sbatch: error: Batch job submission failed: Access/permission denied", Permanent, "ESLURM_ACCESS_DENIED"},
		{"sbatch: error: Batch job submission failed: Invalid feature specification", Permanent, "ESLURM_INVALID_FEATURE"},
		{"sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification", Permanent, "ESLURM_INVALID_GRES"},
		{"sbatch: error: Unable to open file missing.sh", Permanent, ""},
		{"sbatch: error: You must specify a project\nsbatch: error: Batch job submission failed: Unspecified error", Permanent, ""},
		{"sbatch: error: " + strings.Repeat("Read the manual. ", 100) + "\nsbatch: error: Batch job submission failed: Unspecified error", Permanent, ""},
		{"sbatch: error: Batch job submission failed: No partition specified or system default partition", Permanent, "ESLURM_DEFAULT_PARTITION_NOT_SET"},
		{"sbatch: error: CPU count per node can not be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration is not available", Permanent, "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE"},
		{"allocation failure: CPU count per node can not be satisfied", Permanent, ""},
		{"sbatch: error: Batch job submission failed: Requested topology configuration is not available", Permanent, "ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE"},
		{"sbatch: error: Batch job submission failed: Burst Buffer permission denied", Permanent, "ESLURM_BURST_BUFFER_PERMISSION"},
		{"sbatch: error: Batch job submission failed: Partition in DOWN state", Temporary, "ESLURM_PARTITION_DOWN"},
		{"sbatch: error: Batch job submission failed: I/O error writing script/environment to file", Temporary, "ESLURM_WRITING_TO_FILE"},
		{"sbatch: error: Batch job submission failed: Unable to contact slurm controller (receive failure)", Ambiguous, "SLURM_COMMUNICATIONS_RECEIVE_ERROR"},
		{"sbatch: error: Batch job submission failed: Connection reset by peer", Ambiguous, "ECONNRESET"},
	} {
		e := failureOf(Sbatch, Output{Stderr: []byte(tc.text + "\n"), ExitCode: 1}, nil)
		if e.Class != tc.class || e.Code != tc.code {
			t.Errorf("%q is %s %s, want %s %s", tc.text, e.Class, e.Code, tc.class, tc.code)
		}
	}
}

// TestUnknownRefusal: after an unknown message it is unclear whether a job exists.
func TestUnknownRefusal(t *testing.T) {
	for name, e := range map[string]*Error{
		"unknown words": failureOf(Sbatch, Output{Stderr: []byte("sbatch: error: the moon is full\n"), ExitCode: 1}, nil),
		"no words":      failureOf(Sbatch, Output{ExitCode: 1}, nil),
		"too many":      failureOf(Sbatch, Output{}, errors.New("wrote more than 64 MiB")),
		"killed":        failureOf(Sbatch, Output{ExitCode: -1}, errors.New("signal: killed")),
		"not in time":   failureOf(Sbatch, Output{ExitCode: -1}, fmt.Errorf("slow: %w", context.DeadlineExceeded)),
	} {
		if e.Class != Ambiguous || e.Error() == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if e := failureOf(Sbatch, Output{}, fmt.Errorf("%w: no such file", ErrNotStarted)); e.Class != Temporary || !strings.Contains(e.Error(), "no such file") {
		t.Errorf("a program that does not exist: %+v", e)
	}
	if e := failureOf(Sbatch, Output{Stderr: []byte("sbatch: warning")}, nil); e != nil {
		t.Errorf("success: %+v", e)
	}
}

// TestErrorTable checks that each row can be reached: no earlier row matches its text.
func TestErrorTable(t *testing.T) {
	for _, row := range errorTable {
		if row.text != strings.ToLower(row.text) {
			t.Errorf("%q can never match", row.text)
		}
		code, class, ok := recognize(row.text)
		if !ok || code != row.code || class != row.class {
			t.Errorf("%q is recognized as %s %s", row.text, class, code)
		}
	}
}

func TestOneLine(t *testing.T) {
	got := oneLine([]byte("a: error\n\n  a: error  \nb\xff\n" + strings.Repeat("x", 2000)))
	if !strings.HasPrefix(got, "a: error; b\uFFFD; xxx") || len(got) > 1010 {
		t.Errorf("%q", got)
	}
}
