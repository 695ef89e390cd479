package steps

import (
	"os"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// ExplainByStep adds the accounting record of the step of an attempt.
func ExplainByStep(e *workflow.Evidence, rec *slurm.Record) {
	e.PeakMemoryBytes = max(e.PeakMemoryBytes, rec.MaxRSS)
	e.CPUSeconds = max(e.CPUSeconds, rec.CPUTime.Seconds())
	end := failure.SlurmEnd(failure.Said{
		OfStep: true, State: string(rec.State), ExitCode: rec.Exit.String(), CanceledBy: rec.CancelledBy, Owner: strconv.Itoa(os.Getuid()),
	})
	if e.Slurm = end.Evidence(); end.Cause == compute.AllocationOOM {
		setPeakToLimit(e)
	}
}

// ExplainByJob adds the accounting record of the allocation in which an attempt was
// ended.
func ExplainByJob(e *workflow.Evidence, rec *slurm.Record) {
	e.Slurm = failure.SlurmEnd(failure.Said{
		State: string(rec.State), ExitCode: rec.Exit.String(), Reason: rec.Reason, CanceledBy: rec.CancelledBy, Owner: strconv.Itoa(os.Getuid()),
		Start: rec.Start, End: rec.End, Limit: rec.TimeLimit,
	}).Evidence()
}

// ExplainByStderr adds what srun wrote to the error output of a step: that it ran out of
// memory, or could not be started, for which the command is not at fault unless we
// killed it.
func ExplainByStderr(e *workflow.Evidence, said string, killed bool) {
	if outOfMemory.MatchString(said) {
		e.Slurm = failure.SlurmEnd(failure.Said{OfStep: true, State: failure.OutOfMemory, Reason: "as srun says"}).Evidence()
		setPeakToLimit(e)
		return
	}
	if abandoned.MatchString(said) { // and exit code 0
		e.ExitCode, e.Signal = nil, int(unix.SIGKILL)
	}
	if e.ExitCode == nil || killed {
		return
	}
	if refusal, refused := slurm.RefusedStep(said); refused && *e.ExitCode == slurm.SrunErrorCode {
		e.ExitCode, e.SpawnError = nil, refusal.Text
	} else if m := notStarted.FindStringSubmatch(said); m != nil && (*e.ExitCode == srunFailed || *e.ExitCode == slurm.SrunErrorCode) {
		e.ExitCode, e.SpawnError = nil, m[1]
	}
}

// What srun and the step daemon write to the error output of a step.
var (
	outOfMemory = regexp.MustCompile(`(?m)^slurmstepd(?:-\S+)?: error: .*(?i:oom[-_]kill|out of memory)|^srun: error: .*: Out Of Memory`)
	abandoned   = regexp.MustCompile(`(?m)^srun: error: Timed out waiting for job step to complete`)
	notStarted  = regexp.MustCompile(`(?m)^srun: (?:error|fatal): (.*(?:Unable to create step|Unable to confirm allocation|Unable to contact slurm controller|Communication connection failure|Task launch .*failed).*)$`)
)

// srunFailed is the exit code of srun when it is not that of its command.
const srunFailed = 1

// setPeakToLimit raises the peak of a step that ran out of memory to its limit: Slurm's
// last sample may be much less.
func setPeakToLimit(e *workflow.Evidence) {
	e.PeakMemoryBytes = max(e.PeakMemoryBytes, e.MemoryLimitBytes)
	dropSrunCode(e)
}

// dropSrunCode removes an exit code of srun itself: the command was killed.
func dropSrunCode(e *workflow.Evidence) {
	if e.ExitCode != nil && *e.ExitCode == srunFailed {
		e.ExitCode = nil
	}
}
