// Package slurm is the dialogue with Slurm: typed calls of its programs, their
// outputs as Go values, and their refusals as errors with a class.
//
// Answers have three values. A job that is in an answer is known. A job that is
// not in an answer of a healthy Slurm is absent in this look, which is not yet
// an end: see the allocation package. An error of class Unavailable (or
// Withheld) is no information at all. Each answer carries a heading that proves
// that the program worked, so that an empty or cut output is never taken for
// "no jobs".
package slurm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Options configure a Client; the zero value runs the programs in PATH.
type Options struct {
	Executor Executor                 // nil: &OS{}
	Timeouts map[string]time.Duration // by program; missing: DefaultTimeout
	Now      func() time.Time         // nil: time.Now
	Budget   int                      // calls per minute, see Client.Spare; 0: no limit
	// Ledger is a file that clients of other processes use too: then the calls of
	// all of them count. If it cannot be used, those of this client do.
	Ledger string
	// OpenLedger opens that file as flags say; nil: os.OpenFile.
	OpenLedger func(path string, flags int, perm fs.FileMode) (*os.File, error)
	// Modest leaves the second half of the budget to others: questions are
	// withheld as if they could be left out.
	Modest bool
}

// DefaultTimeout is how long a program may take. Under load Slurm's own clients
// retry for longer than that; we come back later instead.
const DefaultTimeout = 60 * time.Second

// Client asks Slurm. It is safe for concurrent use.
type Client struct {
	executor Executor
	timeouts map[string]time.Duration
	now      func() time.Time
	meter    *meter
}

// New makes a client.
func New(opts Options) *Client {
	if opts.Executor == nil {
		opts.Executor = &OS{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Client{
		executor: opts.Executor, timeouts: opts.Timeouts, now: opts.Now,
		meter: newMeter(&opts),
	}
}

// call runs a program and counts it. The error, if any, is an *Error: with
// class Ambiguous if what was asked may have been done.
func (c *Client) call(ctx context.Context, cmd Command, p priority) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, &Error{Program: cmd.Program, Class: Temporary, Err: err}
	}
	if ok, why := c.meter.admit(c.now(), cmd.Program, p); !ok {
		return Output{}, &Error{Program: cmd.Program, Class: Withheld, Text: why}
	}
	timeout, ok := c.timeouts[cmd.Program]
	if !ok {
		timeout = DefaultTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if cmd.Program != Sbatch { // a job inherits the environment of its sbatch
		cmd.Env = slices.Concat(cmd.Env, fixedEnvironment)
	}
	start := c.now()
	out, err := c.executor.Run(bounded, cmd)
	failure := failureOf(cmd.Program, out, err)
	c.meter.done(cmd.Program, c.now().Sub(start), failure)
	if failure != nil {
		return out, failure
	}
	return out, nil
}

// failureOf classifies the end of a program; nil if it succeeded.
func failureOf(program string, out Output, err error) *Error {
	if err == nil && out.ExitCode == 0 {
		return nil
	}
	said := out.Stderr
	if oneLine(said) == "" {
		said = out.Stdout
	}
	e := &Error{Program: program, Text: oneLine(said), ExitCode: out.ExitCode, Err: err}
	code, class, known := recognise(string(said)) // not the text, which is cut: what counts may come last
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e.Class, e.Code = Ambiguous, codeTimeout
		e.Text = err.Error()
	case errors.Is(err, ErrNotStarted):
		e.Class = Temporary
	case known:
		e.Code, e.Class = code, class
	default:
		e.Class = Ambiguous // killed, or with words that we do not know
	}
	return e
}

// ask makes a call whose failure means that nothing is known, apart from
// answers about the question itself (no such job, no such partition).
func (c *Client) ask(ctx context.Context, program string, args ...string) (Output, error) {
	out, err := c.call(ctx, Command{Program: program, Args: args}, question)
	if e := (*Error)(nil); errors.As(err, &e) && e.Class != NotFound && e.Class != Permanent && e.Class != Withheld {
		e.Class = Unavailable
	}
	return out, err
}

// codeTimeout is the Error.Code of a program that did not end in time.
const codeTimeout = "timeout"

// garbled is an answer that is none.
func garbled(program, why string) *Error {
	return &Error{Program: program, Class: Unavailable, Code: "garbled", Text: why}
}
