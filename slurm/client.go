// Package slurm calls Slurm's programs: typed calls, their output as Go values, and
// their failures as errors with a class.
//
// There are three cases. A job that is in an answer is known. A job that is
// not in an answer of a healthy Slurm is absent from this poll, which does not yet
// mean that it has ended: see the allocation package. An error of class Unavailable (or
// Withheld) is no information at all. Each answer has a header that proves
// that the program worked, so that empty or truncated output never means
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
	// all of them count. If it cannot be used, only those of this client do.
	Ledger string
	// OpenLedger opens that file with the given flags; nil: os.OpenFile.
	OpenLedger func(path string, flags int, perm fs.FileMode) (*os.File, error)
	// Modest leaves the second half of the budget to others: queries are
	// withheld like optional calls.
	Modest bool
}

// DefaultTimeout is how long a program may take. Under load Slurm's own clients
// retry for longer than that; we call again later instead.
const DefaultTimeout = 60 * time.Second

// Client calls Slurm's programs. It is safe for concurrent use.
type Client struct {
	executor Executor
	timeouts map[string]time.Duration
	now      func() time.Time
	meter    *meter
}

// New returns a client.
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

// call runs a program and counts the call. The error, if any, is an *Error: with
// class Ambiguous if the request may have been carried out.
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

// failureOf returns the failure of a program; nil if it succeeded.
func failureOf(program string, out Output, err error) *Error {
	if err == nil && out.ExitCode == 0 {
		return nil
	}
	said := out.Stderr
	if oneLine(said) == "" {
		said = out.Stdout
	}
	e := &Error{Program: program, Text: oneLine(said), ExitCode: out.ExitCode, Err: err}
	code, class, known := recognize(string(said)) // not the text, which is truncated: the relevant part may come last
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e.Class, e.Code = Ambiguous, codeTimeout
		e.Text = err.Error()
	case errors.Is(err, ErrNotStarted):
		e.Class = Temporary
	case known:
		e.Code, e.Class = code, class
	default:
		e.Class = Ambiguous // killed, or with an unknown message
	}
	return e
}

// ask makes a query. If it fails, nothing is known, except for answers about the query
// itself (no such job, no such partition).
func (c *Client) ask(ctx context.Context, program string, args ...string) (Output, error) {
	out, err := c.call(ctx, Command{Program: program, Args: args}, queryCall)
	if e := (*Error)(nil); errors.As(err, &e) && e.Class != NotFound && e.Class != Permanent && e.Class != Withheld {
		e.Class = Unavailable
	}
	return out, err
}

// codeTimeout is the Error.Code of a program that did not end in time.
const codeTimeout = "timeout"

// garbled returns the error of an answer that could not be parsed.
func garbled(program, why string) *Error {
	return &Error{Program: program, Class: Unavailable, Code: "garbled", Text: why}
}
