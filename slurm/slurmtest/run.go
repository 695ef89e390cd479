package slurmtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Users of the fake and the real cluster.
const (
	TestUser       = "torctest"
	DefaultAccount = "research"
	LimitedAccount = "limited" // see Limits of QOS small
)

// testUID is the fake cluster's number for its user.
const testUID = 999

// Run answers a command of the cluster's user; it is a slurm.Executor.
func (c *Cluster) Run(ctx context.Context, cmd slurm.Command) (slurm.Output, error) {
	return c.runAs(ctx, cmd, c.opts.User, testUID)
}

// Root is an executor whose commands are the administrator's.
func (c *Cluster) Root() slurm.Executor { return root{c} }

type root struct{ *Cluster }

func (r root) Run(ctx context.Context, cmd slurm.Command) (slurm.Output, error) {
	return r.runAs(ctx, cmd, "root", 0)
}

func (c *Cluster) runAs(ctx context.Context, cmd slurm.Command, user string, uid int) (out slurm.Output, err error) {
	if err := ctx.Err(); err != nil {
		return slurm.Output{}, err
	}
	c.do(func() {
		c.calls = append(c.calls, cmd)
		fault := c.fault(cmd)
		if fault == nil || fault.Done {
			out = c.answer(cmd, user, uid)
		}
		if fault != nil {
			if out, err = fault.replace(out); err == nil && cmd.Program == slurm.Srun && out.ExitCode != 0 {
				if _, why, ok := strings.Cut(string(out.Stderr), "error: "); ok {
					out = srunError(cmd, jobOfStep(cmd), strings.TrimSpace(why))
				}
			}
		}
	})
	return out, err
}

// answer carries a command out.
func (c *Cluster) answer(cmd slurm.Command, user string, uid int) slurm.Output {
	switch cmd.Program {
	case slurm.Sbatch:
		return c.sbatch(cmd, user, uid)
	case slurm.Squeue:
		return c.squeue(cmd.Args)
	case slurm.Sacct:
		return c.sacct(cmd.Args)
	case slurm.Scancel:
		return c.scancel(cmd.Args, uid)
	case slurm.Scontrol:
		return c.scontrol(cmd.Args, uid)
	case slurm.Sinfo:
		return c.sinfo(cmd.Args)
	case slurm.Sacctmgr:
		return c.sacctmgr(cmd.Args)
	case slurm.Srun:
		return c.srun(cmd)
	}
	return refusal(cmd.Program + ": not a program of the fake cluster")
}

// Calls lists the commands that were run, oldest first.
func (c *Cluster) Calls() []slurm.Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// options splits arguments into --name=value, -X value and words. Options named
// in short take their value from the next argument.
func options(args []string, short map[string]string) (named map[string]string, words []string) {
	named = map[string]string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if long, ok := short[arg]; ok && i+1 < len(args) {
			i++
			named[long] = args[i]
		} else if strings.HasPrefix(arg, "-") {
			name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			named[name] = value
		} else {
			words = append(words, arg)
		}
	}
	return named, words
}

// wanted tells whether a list that an option gave, if it gave one, has a value.
func wanted(named map[string]string, option, value string) bool {
	list, ok := named[option]
	return !ok || slices.Contains(strings.Split(list, ","), value)
}

// scancel ends jobs or gives them a signal. Like the real one it says nothing
// about jobs that it does not find.
func (c *Cluster) scancel(args []string, uid int) slurm.Output {
	named, ids := options(args, map[string]string{"-s": "signal"})
	for _, id := range ids {
		number, err := strconv.ParseInt(strings.SplitN(id, ".", 2)[0], 10, 64)
		if err != nil {
			return refusal(fmt.Sprintf("scancel: error: Invalid job id %s", id))
		}
		j := c.job(number)
		if j == nil {
			continue
		}
		if uid != 0 && j.uid != uid {
			return refusal(fmt.Sprintf("scancel: error: Kill job error on job id %s: Access/permission denied", id))
		}
		signal := strings.TrimPrefix(named["signal"], "SIG")
		to := Steps
		if _, ok := named["batch"]; ok {
			to = BatchShell
		} else if _, ok := named["full"]; ok {
			to = Everything
		}
		if l := j.life(); signal == "" || signal == "KILL" && to != BatchShell {
			c.cancel(j, uid)
		} else if l != nil {
			c.send(l, signal, to)
		}
	}
	return slurm.Output{}
}
