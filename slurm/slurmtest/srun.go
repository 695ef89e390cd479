package slurmtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// stepEnded is how the fake srun tells the cluster that its program has ended:
// the arguments after it are JOB.STEP, exit code and signal.
const stepEnded = "--torc-step-ended"

// srun starts and ends steps.
type srun struct {
	queue *queue
	now   time.Time
}

// run starts a step and returns its id, or ends it.
func (s srun) run(cmd slurm.Command) slurm.Output {
	if len(cmd.Args) == 4 && cmd.Args[0] == stepEnded {
		return s.endStep(cmd.Args[1], cmd.Args[2], cmd.Args[3])
	}
	named, _ := options(cmd.Args, nil)
	id := jobOfStep(cmd)
	j := s.queue.jobOf(id)
	if j == nil || j.current() == nil || j.current().completing {
		return srunError(cmd, id, "Invalid job id specified")
	}
	r := j.current()
	started := &step{number: len(r.steps), name: orWord(named["job-name"], "srun"), state: slurm.Running, start: s.now}
	r.steps = append(r.steps, started)
	return say("%d.%d\n", j.number, started.number)
}

func (s srun) endStep(id, code, signal string) slurm.Output {
	step, err := slurm.ParseStepID(id)
	if err != nil {
		return refusal(err.Error())
	}
	j := s.queue.job(step.Job.Number)
	number, err := strconv.Atoi(step.Step)
	if j == nil || err != nil || j.current() == nil || number >= len(j.current().steps) {
		return refusal("srun: error: no step " + id)
	}
	ended := j.current().steps[number]
	ended.end, ended.state = s.now, slurm.Completed
	if _, err := fmt.Sscan(code+" "+signal, &ended.exit.Code, &ended.exit.Signal); err != nil {
		return refusal(err.Error())
	}
	if ended.exit != (slurm.ExitCode{}) {
		ended.state = slurm.Failed
	}
	return slurm.Output{}
}

// srunError returns the output of srun when it cannot start a step, with the exit code
// that it has for its own errors.
func srunError(cmd slurm.Command, job, why string) slurm.Output {
	out := refusal("srun: error: Unable to confirm allocation for job " + job + ": " + why +
		"\nsrun: Check SLURM_JOB_ID environment variable. Expired or invalid job " + job)
	for _, kv := range cmd.Env {
		if value, ok := strings.CutPrefix(kv, slurm.SrunErrorVariable+"="); ok {
			if code, err := strconv.Atoi(value); err == nil {
				out.ExitCode = code
			}
		}
	}
	return out
}

// jobOfStep returns the id of the job in which srun must start a step.
func jobOfStep(cmd slurm.Command) string {
	named, _ := options(cmd.Args, nil)
	id := named["jobid"]
	for _, kv := range cmd.Env {
		if value, ok := strings.CutPrefix(kv, "SLURM_JOB_ID="); ok && id == "" {
			id = value
		}
	}
	return id
}
