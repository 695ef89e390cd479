package failure_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/workflowtest"
)

func ptr[T any](v T) *T { return &v }

const gib = int64(1) << 30

func code(n int64) *int64 { return &n }

func TestClassify(t *testing.T) {
	declared := &ResourceRequirements{Name: "big", Memory: "4g"}
	tests := []struct {
		name  string
		e     Evidence
		codes ReturnCodes
		req   *ResourceRequirements
		want  Cause
	}{
		{name: "ok", e: Evidence{ExitCode: code(0)},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "exit code 0"}},
		{name: "ok beside a neighbour's OOM kill", e: Evidence{ExitCode: code(0), OOMKills: 2},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed,
				Text: "exit code 0, despite 2 cgroup OOM kills meanwhile, of it or of another job"}},
		{name: "ok with a victim, but not alone in its cgroup", e: Evidence{ExitCode: code(0), OOMKills: 1, OOMVictims: 1},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed,
				Text: "exit code 0, despite 1 cgroup OOM kill meanwhile, of it or of another job"}},
		{name: "ok though the allocation failed later", e: Evidence{ExitCode: code(0), Slurm: &SlurmEvidence{JobState: "NODE_FAIL"}},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "exit code 0"}},
		{name: "exit", e: Evidence{ExitCode: code(10), StderrTail: "broken"},
			want: Cause{Kind: CauseExit, Confidence: Certain, Status: Failed, ReturnCode: 10, Text: "exit code 10"}},
		{name: "exit 127 is the command's own word", e: Evidence{ExitCode: code(127)},
			want: Cause{Kind: CauseExit, Confidence: Certain, Status: Failed, ReturnCode: 127,
				Text: "exit code 127 (from a shell: command not found)"}},
		{name: "exit 126", e: Evidence{ExitCode: code(126)},
			want: Cause{Kind: CauseExit, Confidence: Certain, Status: Failed, ReturnCode: 126,
				Text: "exit code 126 (from a shell: command cannot be executed)"}},
		{name: "exit -1", e: Evidence{ExitCode: code(-1)},
			want: Cause{Kind: CauseExit, Confidence: Certain, Status: Failed, ReturnCode: -1, Text: "exit code -1"}},
		{name: "signal", e: Evidence{Signal: 11},
			want: Cause{Kind: CauseSignal, Confidence: Certain, Status: Failed, ReturnCode: 139, Text: "SIGSEGV"}},
		{name: "signal without a name", e: Evidence{Signal: 34},
			want: Cause{Kind: CauseSignal, Confidence: Certain, Status: Failed, ReturnCode: 162, Text: "signal 34"}},
		{name: "signal that a shell reports", e: Evidence{ExitCode: code(134)},
			want: Cause{Kind: CauseSignal, Confidence: Likely, Status: Failed, ReturnCode: 134, Text: "exit code 134 (SIGABRT)"}},
		{name: "oom", e: Evidence{Signal: 9, OOMKills: 1, OOMVictims: 1, PeakMemoryBytes: 398 * gib / 100, MemoryLimitBytes: 4 * gib},
			want: Cause{Kind: CauseOOM, Confidence: Certain, Status: Failed, ReturnCode: 137,
				Text: "OOM: 1 cgroup kill, peak 3.98 of 4.00 GiB, SIGKILL"}},
		{name: "oom of a child, own exit code", e: Evidence{ExitCode: code(1), OOMKills: 3, OOMVictims: 1}, req: declared,
			want: Cause{Kind: CauseOOM, Confidence: Certain, Status: Failed, ReturnCode: 1,
				Text: "OOM: 3 cgroup kills, limit 4.00 GiB, exit code 1"}},
		{name: "oom in its own cgroup, victim unknown", e: Evidence{ExitCode: code(1), OOMKills: 1, OOMExclusive: true},
			want: Cause{Kind: CauseOOM, Confidence: Certain, Status: Failed, ReturnCode: 1, Text: "OOM: 1 cgroup kill, exit code 1"}},
		{name: "oom in a shared cgroup", e: Evidence{ExitCode: code(137), OOMKills: 1},
			want: Cause{Kind: CauseOOM, Confidence: Likely, Status: Failed, ReturnCode: 137,
				Text: "OOM: 1 cgroup kill, exit code 137 (SIGKILL)"}},
		{name: "a neighbour's oom does not explain an exit code", e: Evidence{ExitCode: code(2), OOMKills: 1},
			want: Cause{Kind: CauseExit, Confidence: Certain, Status: Failed, ReturnCode: 2, Text: "exit code 2"}},
		{name: "oom guess", e: Evidence{Signal: 9, PeakMemoryBytes: 512 << 20}, req: declared,
			want: Cause{Kind: CauseOOM, Confidence: Guess, Status: Failed, ReturnCode: 137,
				Text: "OOM: guessed, because the sender of SIGKILL is unknown, peak 512.00 MiB of 4.00 GiB, SIGKILL"}},
		{name: "oom guess cites no default requirement", e: Evidence{Signal: 9, PeakMemoryBytes: 512 << 20},
			req: &ResourceRequirements{Name: DefaultRequirements, Memory: "1m"},
			want: Cause{Kind: CauseOOM, Confidence: Guess, Status: Failed, ReturnCode: 137,
				Text: "OOM: guessed, because the sender of SIGKILL is unknown, peak 512.00 MiB, SIGKILL"}},
		{name: "a kill that the shell hides, beside another job", e: Evidence{ExitCode: code(0), OOMKills: 1,
			OOMShare: &OOMShare{Kills: 1, Seen: true, Process: "python3 (pid 7)"}, PeakMemoryBytes: 398 * gib / 100, MemoryLimitBytes: 4 * gib},
			want: Cause{Kind: CauseOOMPartial, Confidence: Certain, Status: Failed, ReturnCode: 137,
				Text: "OOM: exit code 0, 1 cgroup kill of python3 (pid 7), peak 3.98 of 4.00 GiB"}},
		{name: "a kill that the shell hides, when no other job lost a process", e: Evidence{ExitCode: code(0), OOMKills: 1, OOMShare: &OOMShare{Kills: 1}},
			want: Cause{Kind: CauseOOMPartial, Confidence: Likely, Status: Failed, ReturnCode: 137, Text: "OOM: exit code 0, 1 cgroup kill"}},
		{name: "kills of others", e: Evidence{ExitCode: code(0), OOMKills: 2, OOMShare: &OOMShare{Others: []string{"hog", "pig"}, OtherCount: 3}},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed,
				Text: "exit code 0, despite 2 cgroup OOM kills meanwhile, of hog, pig, 1 more"}},
		{name: "kills of others do not explain a SIGKILL", e: Evidence{Signal: 9, OOMKills: 2, OOMShare: &OOMShare{Others: []string{"hog"}, OtherCount: 1}},
			want: Cause{Kind: CauseOOM, Confidence: Guess, Status: Failed, ReturnCode: 137,
				Text: "OOM: guessed, because the sender of SIGKILL is unknown, 2 cgroup kills, SIGKILL"}},
		{name: "a child's kill explains an exit code", e: Evidence{ExitCode: code(1), OOMKills: 1, OOMShare: &OOMShare{Kills: 1, Seen: true, Process: "solver (pid 7)"}},
			want: Cause{Kind: CauseOOM, Confidence: Certain, Status: Failed, ReturnCode: 1, Text: "OOM: 1 cgroup kill of solver (pid 7), exit code 1"}},
		{name: "a kill in doubt, of the likeliest", e: Evidence{ExitCode: code(0), OOMKills: 1,
			OOMShare: &OOMShare{Doubtful: 1, Likely: true, Others: []string{"hog"}, OtherCount: 1}},
			want: Cause{Kind: CauseOOMPartial, Confidence: Likely, Status: Failed, ReturnCode: 137,
				Text: "OOM: exit code 0, 1 cgroup kill of it or of hog"}},
		{name: "a kill in doubt, of another one", e: Evidence{ExitCode: code(0), OOMKills: 1,
			OOMShare: &OOMShare{Doubtful: 1, Others: []string{"hog"}, OtherCount: 1}},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed,
				Text: "exit code 0, despite 1 cgroup OOM kill meanwhile, of it or of hog (oom_partial: fail_likely)"}},
		{name: "a kill in doubt, of it or of nobody's", e: Evidence{ExitCode: code(0), OOMKills: 1, OOMShare: &OOMShare{Doubtful: 1}},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed,
				Text: "exit code 0, despite 1 cgroup OOM kill meanwhile, of it or of a process that belongs to no job (oom_partial: fail_likely)"}},
		{name: "a kill in doubt is ignored", e: Evidence{ExitCode: code(0), OOMKills: 1,
			OOMShare: &OOMShare{Doubtful: 1, Likely: true, Others: []string{"hog"}, OtherCount: 1, Policy: OOMIgnore}},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed,
				Text: "exit code 0, despite 1 cgroup OOM kill meanwhile, of it or of hog (oom_partial: ignore)"}},
		{name: "a kill in doubt fails all", e: Evidence{ExitCode: code(0), OOMKills: 1,
			OOMShare: &OOMShare{Doubtful: 1, Others: []string{"hog"}, OtherCount: 1, Policy: OOMFailAll}},
			want: Cause{Kind: CauseOOMPartial, Confidence: Guess, Status: Failed, ReturnCode: 137,
				Text: "OOM: exit code 0, 1 cgroup kill of it or of hog"}},
		{name: "a kill in doubt does not explain an exit code", e: Evidence{ExitCode: code(3), OOMKills: 1,
			OOMShare: &OOMShare{Doubtful: 1, Likely: true, Others: []string{"hog"}, OtherCount: 1}},
			want: Cause{Kind: CauseExit, Confidence: Certain, Status: Failed, ReturnCode: 3,
				Text: "exit code 3, despite 1 cgroup OOM kill meanwhile, of it or of hog (oom_partial: fail_likely)"}},
		{name: "oom by our limit", e: Evidence{Signal: 9, KilledBy: KilledByMemoryLimit, PeakMemoryBytes: 5 * gib, MemoryLimitBytes: 4 * gib},
			codes: ReturnCodes{OOM: 77},
			want: Cause{Kind: CauseOOM, Confidence: Certain, Status: Failed, ReturnCode: 77,
				Text: "OOM: our memory limit, peak 5.00 of 4.00 GiB, SIGKILL"}},
		{name: "oom_partial", e: Evidence{ExitCode: code(0), OOMKills: 1, OOMExclusive: true},
			want: Cause{Kind: CauseOOMPartial, Confidence: Certain, Status: Failed, ReturnCode: 137,
				Text: "OOM: exit code 0, 1 cgroup kill"}},
		{name: "oom_partial by the step's state", e: Evidence{ExitCode: code(0), Slurm: &SlurmEvidence{StepState: "OUT_OF_MEMORY"}},
			want: Cause{Kind: CauseOOMPartial, Confidence: Certain, Status: Failed, ReturnCode: 137, Text: "OOM: exit code 0"}},
		{name: "oom by the step's state", e: Evidence{ExitCode: code(1), Slurm: &SlurmEvidence{StepState: "OUT_OF_MEMORY"}},
			want: Cause{Kind: CauseOOM, Confidence: Certain, Status: Failed, ReturnCode: 1, Text: "OOM: Slurm step OUT_OF_MEMORY, exit code 1"}},
		{name: "oom by the job's state", e: Evidence{ExitCode: code(1), Slurm: &SlurmEvidence{JobState: "OUT_OF_MEMORY"}},
			want: Cause{Kind: CauseOOM, Confidence: Likely, Status: Failed, ReturnCode: 1, Text: "OOM: Slurm job OUT_OF_MEMORY, exit code 1"}},
		{name: "timeout", e: Evidence{Signal: 15, KilledBy: KilledByTimeout, RunLimitSeconds: 90},
			want: Cause{Kind: CauseTimeout, Confidence: Certain, Status: Terminated, ReturnCode: 152,
				Text: "exceeded its time limit, limit 1m30s, SIGTERM"}},
		{name: "timeout with its own code", e: Evidence{ExitCode: code(3), KilledBy: KilledByTimeout}, codes: ReturnCodes{Timeout: 99},
			want: Cause{Kind: CauseTimeout, Confidence: Certain, Status: Terminated, ReturnCode: 3, Text: "exceeded its time limit, exit code 3"}},
		{name: "timeout, done within the grace", e: Evidence{ExitCode: code(0), KilledBy: KilledByTimeout}, codes: ReturnCodes{Timeout: 99},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "exit code 0, while being stopped"}},
		{name: "timeout, exit code 0 without its outputs", e: Evidence{ExitCode: code(0), KilledBy: KilledByTimeout, MissingOutputCount: 1}, codes: ReturnCodes{Timeout: 99},
			want: Cause{Kind: CauseTimeout, Confidence: Certain, Status: Terminated, ReturnCode: 99, Text: "exceeded its time limit, exit code 0"}},
		{name: "sibling, done within the grace", e: Evidence{ExitCode: code(0), KilledBy: KilledBySibling},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "exit code 0, while being stopped"}},
		{name: "sibling, exit code 0 without its outputs", e: Evidence{ExitCode: code(0), KilledBy: KilledBySibling, MissingOutputCount: 1},
			want: Cause{Kind: CauseCanceledUser, Confidence: Certain, Status: Canceled, ReturnCode: -1, Text: "canceled because another job failed, exit code 0"}},
		{name: "paused, killed", e: Evidence{Signal: 9, KilledBy: KilledByPause},
			want: Cause{Kind: CauseCanceledUser, Confidence: Certain, Status: Canceled, ReturnCode: 137, ByPause: true, Text: "ended because the workflow was paused, SIGKILL"}},
		{name: "paused, done within the grace", e: Evidence{ExitCode: code(0), KilledBy: KilledByPause},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "exit code 0, while being stopped"}},
		{name: "canceled with the workflow, exit code 0", e: Evidence{ExitCode: code(0), KilledBy: KilledByCancel},
			want: Cause{Kind: CauseCanceledUser, Confidence: Certain, Status: Canceled, ReturnCode: -1, Text: "canceled with the workflow, exit code 0"}},
		{name: "drained, killed", e: Evidence{Signal: 9, KilledBy: KilledByDrain}, codes: ReturnCodes{Timeout: 99},
			want: Cause{Kind: CauseWalltime, Confidence: Certain, Status: Terminated, ReturnCode: 99, ByDrain: true,
				Text: "stopped because its runner was ending, SIGKILL"}},
		{name: "drained, own code within the grace", e: Evidence{ExitCode: code(4), KilledBy: KilledByDrain},
			want: Cause{Kind: CauseWalltime, Confidence: Certain, Status: Terminated, ReturnCode: 4, ByDrain: true,
				Text: "stopped because its runner was ending, exit code 4"}},
		{name: "drained, done within the grace", e: Evidence{ExitCode: code(0), KilledBy: KilledByDrain},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "exit code 0, while being stopped"}},
		{name: "drained, exit code 0 without its outputs", e: Evidence{ExitCode: code(0), KilledBy: KilledByDrain, MissingOutputCount: 1},
			want: Cause{Kind: CauseWalltime, Confidence: Certain, Status: Terminated, ReturnCode: 152, ByDrain: true,
				Text: "stopped because its runner was ending, exit code 0, 1 output file missing"}},
		{name: "walltime by Slurm", e: Evidence{Signal: 9, Slurm: &SlurmEvidence{JobState: "TIMEOUT"}},
			want: Cause{Kind: CauseWalltime, Confidence: Certain, Status: Terminated, ReturnCode: 152, Text: "Slurm job TIMEOUT, SIGKILL"}},
		{name: "walltime by Slurm while we drained", e: Evidence{Signal: 9, KilledBy: KilledByDrain, Slurm: &SlurmEvidence{JobState: "TIMEOUT"}},
			want: Cause{Kind: CauseWalltime, Confidence: Certain, Status: Terminated, ReturnCode: 152, ByDrain: true, Text: "Slurm job TIMEOUT, SIGKILL"}},
		{name: "step timeout", e: Evidence{ExitCode: code(1), Slurm: &SlurmEvidence{StepState: "TIMEOUT"}},
			want: Cause{Kind: CauseWalltime, Confidence: Certain, Status: Terminated, ReturnCode: 1, Text: "Slurm step TIMEOUT, exit code 1"}},
		{name: "own code beats the job's state", e: Evidence{ExitCode: code(1), Slurm: &SlurmEvidence{JobState: "TIMEOUT"}},
			want: Cause{Kind: CauseExit, Confidence: Certain, Status: Failed, ReturnCode: 1, Text: "exit code 1"}},
		{name: "node_fail", e: Evidence{LostRunner: true, Slurm: &SlurmEvidence{JobState: "NODE_FAIL", Reason: "node7 down"}},
			want: Cause{Kind: CauseNodeFail, Confidence: Certain, Status: Failed, ReturnCode: -128, MayStillRun: true, Text: "Slurm job NODE_FAIL, node7 down"}},
		{name: "boot_fail", e: Evidence{Signal: 15, Slurm: &SlurmEvidence{JobState: "BOOT_FAIL"}},
			want: Cause{Kind: CauseNodeFail, Confidence: Certain, Status: Failed, ReturnCode: 143, Text: "Slurm job BOOT_FAIL, SIGTERM"}},
		{name: "preempted", e: Evidence{Signal: 15, Slurm: &SlurmEvidence{JobState: "PREEMPTED"}},
			want: Cause{Kind: CausePreempted, Confidence: Certain, Status: Terminated, ReturnCode: 143, Text: "Slurm job PREEMPTED, SIGTERM"}},
		{name: "preempted beats the drain that it began", e: Evidence{Signal: 15, KilledBy: KilledByDrain, Slurm: &SlurmEvidence{JobState: "PREEMPTED"}},
			want: Cause{Kind: CausePreempted, Confidence: Certain, Status: Terminated, ReturnCode: 143, Text: "Slurm job PREEMPTED, SIGTERM"}},
		{name: "preempted, as its end tells", e: Evidence{Signal: 15, KilledBy: KilledByDrain, Slurm: &SlurmEvidence{JobState: "PREEMPTED", Reason: "TIMEOUT with 9m left", Inferred: true}},
			want: Cause{Kind: CausePreempted, Confidence: Likely, Status: Terminated, ReturnCode: 143, Text: "TIMEOUT with 9m left, SIGTERM"}},
		{name: "node_fail beats the drain that we ordered", e: Evidence{Signal: 15, KilledBy: KilledByDrain, Slurm: &SlurmEvidence{JobState: "NODE_FAIL"}},
			want: Cause{Kind: CauseNodeFail, Confidence: Certain, Status: Failed, ReturnCode: 143, Text: "Slurm job NODE_FAIL, SIGTERM"}},
		{name: "drained by a signal of Slurm long before the end", e: Evidence{ExitCode: code(3), KilledBy: KilledByDrain, TimeLeftSeconds: 592},
			want: Cause{Kind: CausePreempted, Confidence: Likely, Status: Terminated, ReturnCode: 3,
				Text: "Slurm took the node with 9m52s of its time left without giving a reason, exit code 3"}},
		{name: "requeued", e: Evidence{LostRunner: true, Slurm: &SlurmEvidence{JobState: "REQUEUED", RestartCount: 1}},
			want: Cause{Kind: CausePreempted, Confidence: Likely, Status: Terminated, ReturnCode: -1, Text: "Slurm job REQUEUED"}},
		{name: "our scancel", e: Evidence{Signal: 15, Slurm: &SlurmEvidence{JobState: "CANCELLED", CanceledBy: "1000", Owner: "1000", CanceledByUs: true}},
			want: Cause{Kind: CausePreempted, Confidence: Certain, Status: Terminated, ReturnCode: 143, ByUs: true, Text: "we canceled its allocation, SIGTERM"}},
		{name: "the owner's scancel", e: Evidence{Signal: 15, Slurm: &SlurmEvidence{JobState: "CANCELLED", CanceledBy: "1000", Owner: "1000"}},
			want: Cause{Kind: CauseCanceledUser, Confidence: Certain, Status: Canceled, ReturnCode: 143,
				Text: "its allocation was canceled by its owner 1000, SIGTERM"}},
		{name: "somebody's scancel", e: Evidence{Signal: 15, Slurm: &SlurmEvidence{JobState: "CANCELLED", CanceledBy: "1000"}},
			want: Cause{Kind: CauseCanceledUser, Confidence: Likely, Status: Canceled, ReturnCode: 143,
				Text: "its allocation was canceled by 1000, SIGTERM"}},
		{name: "the administrator's scancel", e: Evidence{LostRunner: true, Slurm: &SlurmEvidence{JobState: "CANCELLED", CanceledBy: "0", Owner: "1000"}},
			want: Cause{Kind: CauseCanceledAdmin, Confidence: Certain, Status: Canceled, ReturnCode: -1,
				Text: "its allocation was canceled by 0"}},
		{name: "nobody's scancel", e: Evidence{Slurm: &SlurmEvidence{JobState: "CANCELLED"}},
			want: Cause{Kind: CauseCanceledUser, Confidence: Guess, Status: Canceled, ReturnCode: -1, Text: "its allocation was canceled"}},
		{name: "canceled with the workflow", e: Evidence{Signal: 15, KilledBy: KilledByCancel},
			want: Cause{Kind: CauseCanceledUser, Confidence: Certain, Status: Canceled, ReturnCode: 143,
				Text: "canceled with the workflow, SIGTERM"}},
		{name: "given to another", e: Evidence{Signal: 9, KilledBy: KilledByFence},
			want: Cause{Kind: CauseLost, Confidence: Certain, Status: Failed, ByUs: true, ReturnCode: -128,
				Text: "its job was granted to another runner, SIGKILL"}},
		{name: "launch of the command", e: Evidence{SpawnError: "fork/exec ./sim: no such file or directory", SpawnErrno: 2, SpawnOfCommand: true},
			want: Cause{Kind: CauseLaunch, Confidence: Certain, Status: Failed, ReturnCode: 127, OfCommand: true,
				Text: "could not be started (command): fork/exec ./sim: no such file or directory"}},
		{name: "launch on the node", e: Evidence{SpawnErrno: 11},
			want: Cause{Kind: CauseLaunch, Confidence: Certain, Status: Failed, ReturnCode: 126, Text: "could not be started (node): errno 11"}},
		{name: "output_missing", e: Evidence{ExitCode: code(0), MissingOutputs: []string{"a", "b", "c", "d"}, MissingOutputCount: 40},
			want: Cause{Kind: CauseOutputMissing, Confidence: Certain, Status: Failed, ReturnCode: 1,
				Text: "40 output files missing: a, b, c, ..."}},
		{name: "disk_full by its words", e: Evidence{ExitCode: code(1), StderrTail: "cp: write error: No space left on device\n"},
			want: Cause{Kind: CauseDiskFull, Confidence: Likely, Status: Failed, ReturnCode: 1, Text: "no space left on the device, or disk quota exceeded, exit code 1"}},
		{name: "disk_full seen by us", e: Evidence{Signal: 25, DiskFull: true},
			want: Cause{Kind: CauseDiskFull, Confidence: Likely, Status: Failed, ReturnCode: 153, Text: "no space left on the device, or disk quota exceeded, SIGXFSZ"}},
		{name: "disk_full before the start", e: Evidence{SpawnError: "open x.o: no space left on device", SpawnErrno: 28, DiskFull: true},
			want: Cause{Kind: CauseDiskFull, Confidence: Certain, Status: Failed, ReturnCode: 126, Text: "could not be started (node): open x.o: no space left on device"}},
		{name: "disk_full is no excuse for success", e: Evidence{ExitCode: code(0), DiskFull: true},
			want: Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "exit code 0"}},
		{name: "never started", e: Evidence{NeverStarted: true, ExitCode: code(1), Note: "runner left"},
			want: Cause{Kind: CauseNeverStarted, Confidence: Certain, Status: Ready, ReturnCode: -1, Text: "claimed but not started, runner left"}},
		{name: "lost on this machine", e: Evidence{LostRunner: true},
			want: Cause{Kind: CauseLost, Confidence: Likely, Status: Failed, ReturnCode: -128, Text: "its runner is gone and it is unknown how it ended"}},
		{name: "lost in a cluster", e: Evidence{LostRunner: true, Slurm: &SlurmEvidence{}},
			want: Cause{Kind: CauseLost, Confidence: Likely, Status: Failed, ReturnCode: -128, MayStillRun: true,
				Text: "its runner is gone and it is unknown how it ended"}},
		{name: "lost in an allocation that is over", e: Evidence{LostRunner: true, Slurm: &SlurmEvidence{JobState: "FAILED"}, Note: "exit code 1:0"},
			want: Cause{Kind: CauseLost, Confidence: Likely, Status: Failed, ReturnCode: -128,
				Text: "its runner is gone and it is unknown how it ended, exit code 1:0"}},
		{name: "nothing known", want: Cause{Kind: CauseLost, Confidence: Likely, Status: Failed, ReturnCode: -128, Text: "it is unknown how it ended"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, failure.Classify(tt.e, tt.codes, tt.req)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	for name, tc := range map[string]struct {
		e    Evidence
		want bool
	}{
		"drained":                        {Evidence{ExitCode: code(1), KilledBy: KilledByDrain}, true},
		"told to end by somebody":        {Evidence{Signal: 15}, true},
		"told to end, as its shell says": {Evidence{ExitCode: code(143)}, true},
		"killed by somebody":             {Evidence{Signal: 9}, true},
		"killed by the kernel":           {Evidence{Signal: 9, OOMKills: 1}, false},
		"killed by its own limit":        {Evidence{Signal: 15, KilledBy: KilledByTimeout}, false},
		"crashed":                        {Evidence{Signal: 11}, false},
		"failed":                         {Evidence{ExitCode: code(1)}, false},
	} {
		if got := failure.Interrupted(&tc.e); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestClassifyCanceled(t *testing.T) {
	for _, tt := range []struct {
		e    Evidence
		code int64
		text string
	}{
		{Evidence{}, -1, "the job was reset"},
		{Evidence{Signal: 9, KilledBy: KilledByFence}, 137, "the job was reset, SIGKILL"},
		{Evidence{ExitCode: code(3)}, 3, "the job was reset, exit code 3"},
		{Evidence{ExitCode: code(0)}, -1, "the job was reset, exit code 0"},
	} {
		want := Cause{Kind: CauseCanceledUser, Confidence: Certain, Status: Canceled, ReturnCode: tt.code, Text: tt.text}
		if diff := cmp.Diff(want, failure.ClassifyCanceled("the job was reset", tt.e)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.e, diff)
		}
	}
}

func TestReturnCodesOfConfig(t *testing.T) {
	if diff := cmp.Diff(ReturnCodes{}, (*ExecutionConfig)(nil).ReturnCodes()); diff != "" {
		t.Error(diff)
	}
	config := &ExecutionConfig{TimeoutExitCode: code(9), OOMExitCode: code(8)}
	if diff := cmp.Diff(ReturnCodes{Timeout: 9, OOM: 8}, config.ReturnCodes()); diff != "" {
		t.Error(diff)
	}
}

func TestEveryCauseHasAStatus(t *testing.T) {
	for _, k := range CauseKinds() {
		if _, ok := workflowtest.StatusOfCause[k]; !ok {
			t.Errorf("no status for %s", k)
		}
	}
	if len(workflowtest.StatusOfCause) != len(CauseKinds()) {
		t.Errorf("%d statuses for %d causes", len(workflowtest.StatusOfCause), len(CauseKinds()))
	}
}

// Any evidence has a cause that agrees with the table, says something in one
// line, is the same every time, and is success exactly for exit code 0.
func TestClassifyAlwaysHasAnAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, codes := drawEvidence(t), ReturnCodes{Timeout: rapid.Int64Range(0, 3).Draw(t, "timeout"), OOM: rapid.Int64Range(0, 3).Draw(t, "oom")}
		req := rapid.SampledFrom([]*ResourceRequirements{nil, {Name: "r", Memory: "2g"}, {Name: "r", Memory: "much"}}).Draw(t, "requirements")
		c := failure.Classify(e, codes, req)
		if want, ok := workflowtest.StatusOfCause[c.Kind]; !ok || c.Status != want {
			t.Fatalf("cause %s has status %s", c.Kind, c.Status)
		}
		if c.Text == "" || strings.Contains(c.Text, "\n") {
			t.Fatalf("text %q is not one line", c.Text)
		}
		if (c.Kind == CauseOK) != (c.ReturnCode == 0) {
			t.Fatalf("%s with return code %d", c.Kind, c.ReturnCode)
		}
		if c.Kind == CauseOK && (e.ExitCode == nil || *e.ExitCode != 0) {
			t.Fatalf("success without exit code 0: %+v", e)
		}
		if c.Confidence != Certain && c.Confidence != Likely && c.Confidence != Guess {
			t.Fatalf("confidence %q", c.Confidence)
		}
		if diff := cmp.Diff(c, failure.Classify(e, codes, req)); diff != "" {
			t.Fatalf("not the same again:\n%s", diff)
		}
	})
}

func drawEvidence(t *rapid.T) Evidence {
	states := rapid.SampledFrom([]string{"", "COMPLETED", "FAILED", "OUT_OF_MEMORY", "TIMEOUT", "DEADLINE", "NODE_FAIL",
		"BOOT_FAIL", "PREEMPTED", "REQUEUED", "CANCELLED", "RUNNING", "nonsense"})
	users := rapid.SampledFrom([]string{"", "0", "root", "1000", "1001"})
	e := Evidence{
		Signal: rapid.SampledFrom([]int{0, 0, 0, 9, 15, 11, 64, -3}).Draw(t, "signal"),
		KilledBy: rapid.SampledFrom([]KillReason{"", "", "", KilledByTimeout, KilledByCancel, KilledByDrain, KilledByFence,
			KilledByMemoryLimit}).Draw(t, "killed_by"),
		OOMKills:           rapid.Int64Range(-1, 2).Draw(t, "kills"),
		OOMVictims:         rapid.IntRange(0, 2).Draw(t, "victims"),
		OOMExclusive:       rapid.Bool().Draw(t, "exclusive"),
		MemoryLimitBytes:   rapid.Int64Range(0, 1<<40).Draw(t, "limit"),
		PeakMemoryBytes:    rapid.Int64Range(0, 1<<40).Draw(t, "peak"),
		SpawnErrno:         rapid.SampledFrom([]int{0, 0, 0, 0, 2, 13}).Draw(t, "errno"),
		NeverStarted:       rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "never_started"),
		MissingOutputCount: rapid.IntRange(0, 3).Draw(t, "missing"),
		TimeLeftSeconds:    rapid.Int64Range(0, 600).Draw(t, "time left"),
		DiskFull:           rapid.Bool().Draw(t, "disk_full"),
		LostRunner:         rapid.Bool().Draw(t, "lost"),
	}
	if rapid.Bool().Draw(t, "shared") {
		e.OOMShare = &OOMShare{Kills: rapid.Int64Range(0, 2).Draw(t, "own"), Seen: rapid.Bool().Draw(t, "seen"),
			Doubtful: rapid.Int64Range(0, 2).Draw(t, "doubtful"), Likely: rapid.Bool().Draw(t, "likely"),
			Others: rapid.SampledFrom([][]string{nil, {"other"}, {"a", "b"}}).Draw(t, "others"), OtherCount: rapid.IntRange(0, 12).Draw(t, "count"),
			Policy: rapid.SampledFrom([]OOMPartial{"", OOMFailLikely, OOMIgnore, OOMFailAll}).Draw(t, "policy")}
	}
	if rapid.Bool().Draw(t, "exited") {
		e.ExitCode = ptr(rapid.SampledFrom([]int64{0, 0, 0, 1, 127, 137, 143, 152, 255, 300, -1}).Draw(t, "code"))
	}
	if rapid.Bool().Draw(t, "slurm") {
		e.Slurm = &SlurmEvidence{JobState: states.Draw(t, "job"), StepState: states.Draw(t, "step"),
			CanceledBy: users.Draw(t, "by"), Owner: users.Draw(t, "owner"), CanceledByUs: rapid.Bool().Draw(t, "us"),
			Inferred: rapid.Bool().Draw(t, "inferred")}
	}
	return e
}
