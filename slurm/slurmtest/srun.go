package slurmtest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// stepEnded is how the fake srun tells the cluster that its program has ended:
// the arguments after it are JOB.STEP, exit code and signal.
const stepEnded = "--torc-step-ended"

// srun begins a step and answers its id, or ends it.
func (c *Cluster) srun(cmd slurm.Command) slurm.Output {
	if len(cmd.Args) == 4 && cmd.Args[0] == stepEnded {
		return c.endStep(cmd.Args[1], cmd.Args[2], cmd.Args[3])
	}
	named, _ := options(cmd.Args, nil)
	id := jobOfStep(cmd)
	j := c.jobOf(id)
	if j == nil || j.life() == nil || j.life().completing {
		return srunError(cmd, id, "Invalid job id specified")
	}
	l := j.life()
	s := &step{number: len(l.steps), name: orWord(named["job-name"], "srun"), state: slurm.Running, start: c.now}
	l.steps = append(l.steps, s)
	return say("%d.%d\n", j.number, s.number)
}

func (c *Cluster) endStep(id, code, signal string) slurm.Output {
	step, err := slurm.ParseStepID(id)
	if err != nil {
		return refusal(err.Error())
	}
	j := c.job(step.Job.Number)
	number, err := strconv.Atoi(step.Step)
	if j == nil || err != nil || j.life() == nil || number >= len(j.life().steps) {
		return refusal("srun: error: no step " + id)
	}
	s := j.life().steps[number]
	s.end, s.state = c.now, slurm.Completed
	if _, err := fmt.Sscan(code+" "+signal, &s.exit.Code, &s.exit.Signal); err != nil {
		return refusal(err.Error())
	}
	if s.exit != (slurm.ExitCode{}) {
		s.state = slurm.Failed
	}
	return slurm.Output{}
}

// srunError is what srun says when it cannot start a step, and the code that it
// ends with for its own errors.
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

// jobOfStep is the allocation that srun is told to start a step in.
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
