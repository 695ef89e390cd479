package slurmtest

import (
	"context"
	"slices"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Fault makes commands fail.
type Fault struct {
	Program string                   // "" is each
	Match   func(slurm.Command) bool // nil matches
	Times   int                      // how many commands it affects; 0 is all until it is removed
	Done    bool                     // the command is carried out before its answer is replaced
	// Answer replaces the answer of the program; nil leaves it unchanged.
	Answer func(slurm.Output) slurm.Output
	Err    error // the program could not be run, or did not end in time

	left int
}

// Refusal is a fault: the program writes this error and fails without doing anything.
func Refusal(program, text string) Fault {
	return Fault{Program: program, Answer: func(slurm.Output) slurm.Output { return refusal(text) }}
}

// TimedOut is a fault: the program does not end in time. With done the command has been
// carried out nevertheless.
func TimedOut(program string, done bool) Fault {
	return Fault{Program: program, Done: done, Err: context.DeadlineExceeded}
}

// Garbage is a fault: the program succeeds and prints this text.
func Garbage(program, text string) Fault {
	return Fault{Program: program, Done: true, Answer: func(slurm.Output) slurm.Output {
		return slurm.Output{Stdout: []byte(text)}
	}}
}

// Cut is a fault: the program succeeds and prints only a part of its answer.
func Cut(program string, bytes int) Fault {
	return Fault{Program: program, Done: true, Answer: func(out slurm.Output) slurm.Output {
		out.Stdout = out.Stdout[:min(bytes, len(out.Stdout))]
		return out
	}}
}

// ControllerDown is a fault: every call of slurmctld fails.
func ControllerDown() Fault {
	return Fault{
		Match: func(cmd slurm.Command) bool { return cmd.Program != slurm.Sacct && cmd.Program != slurm.Sacctmgr },
		Answer: func(slurm.Output) slurm.Output {
			return refusal("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
		},
	}
}

// AccountingDown is a fault: every call of slurmdbd fails.
func AccountingDown() Fault {
	return Fault{
		Match: func(cmd slurm.Command) bool { return cmd.Program == slurm.Sacct || cmd.Program == slurm.Sacctmgr },
		Answer: func(slurm.Output) slurm.Output {
			return refusal("sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection to host:localhost:17819: Connection refused\nsacct: error: Problem talking to the database: Connection refused")
		},
	}
}

// Inject adds a fault; the function that it returns removes it. If several match, the
// oldest is used.
func (c *Cluster) Inject(f Fault) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.left = f.Times
	fault := &f
	c.faults = append(c.faults, fault)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults.remove(fault)
	}
}

// faults are the injected faults, oldest first.
type faults []*Fault

func (fs *faults) remove(fault *Fault) {
	*fs = slices.DeleteFunc(*fs, func(f *Fault) bool { return f == fault })
}

// match returns the fault that a command matches, and counts it; nil if there is none.
func (fs *faults) match(cmd slurm.Command) *Fault {
	for _, f := range *fs {
		if f.Program != "" && f.Program != cmd.Program || f.Match != nil && !f.Match(cmd) {
			continue
		}
		if f.left--; f.left == 0 {
			fs.remove(f)
		}
		return f
	}
	return nil
}

// replace returns the answer that replaces the command's own.
func (f *Fault) replace(out slurm.Output) (slurm.Output, error) {
	if f.Err != nil {
		return slurm.Output{}, f.Err
	}
	if f.Answer != nil {
		out = f.Answer(out)
	}
	return out, nil
}
