package slurmtest

import (
	"context"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// The user and the accounts of the fake and the real cluster.
const (
	TestUser       = "torctest"
	DefaultAccount = "research"
	LimitedAccount = "limited" // see the limits of QOS small
)

// testUID is the uid of the fake cluster's user.
const testUID = 999

// Run answers a command of the cluster's user; it is a slurm.Executor.
func (c *Cluster) Run(ctx context.Context, cmd slurm.Command) (slurm.Output, error) {
	return c.runAs(ctx, cmd, c.opts.User, testUID)
}

// Root returns an executor that runs commands as the administrator.
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
		fault := c.faults.match(cmd)
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

// answer carries out a command.
func (c *Cluster) answer(cmd slurm.Command, user string, uid int) slurm.Output {
	switch cmd.Program {
	case slurm.Sbatch:
		s := sbatch{clock: c.clock, queue: c.queue, scheduler: c.scheduler, partitions: c.opts.Partitions, accounts: c.opts.Accounts, qos: c.opts.QOS}
		return s.run(cmd, user, uid)
	case slurm.Squeue:
		return squeue{queue: c.queue, scheduler: c.scheduler}.run(cmd.Args)
	case slurm.Sacct:
		return sacct(c.accounting, c.queue.jobs, cmd.Args)
	case slurm.Scancel:
		return scancel(c.queue, c.controller, cmd.Args, uid)
	case slurm.Scontrol:
		s := scontrol{opts: &c.opts, queue: c.queue, nodes: c.nodes, scheduler: c.scheduler, controller: c.controller}
		return s.run(cmd.Args, c.clock.now, uid)
	case slurm.Sinfo:
		return sinfo{partitions: c.opts.Partitions, scheduler: c.scheduler}.run(cmd.Args)
	case slurm.Sacctmgr:
		s := sacctmgr{cluster: c.opts.Name, user: c.opts.User, accounts: c.opts.Accounts, qos: c.opts.QOS}
		return s.run(cmd.Args)
	case slurm.Srun:
		return srun{queue: c.queue, now: c.clock.now}.run(cmd)
	}
	return refusal(cmd.Program + ": not a program of the fake cluster")
}

// Calls returns the commands that were run, oldest first.
func (c *Cluster) Calls() []slurm.Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// options splits arguments into options with their values, and words. Options in short,
// which maps them to their long names, take their value from the next argument.
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

// wanted reports whether the list of an option contains a value, or the option is not
// given.
func wanted(named map[string]string, option, value string) bool {
	list, ok := named[option]
	return !ok || slices.Contains(strings.Split(list, ","), value)
}
