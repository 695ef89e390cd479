package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Submission is a batch script for sbatch.
type Submission struct {
	Script []byte   // sent on standard input unless Path is set
	Path   string   // a file that holds the script
	Args   []string // further options of sbatch
	Dir    string   // the job's working directory; "" is our own
	Env    []string // added to the job's environment, "NAME=value"
}

// Submitted is a job that Slurm has accepted.
type Submitted struct {
	ID      JobID
	Cluster string // "" if sbatch did not say
	Warning string // what else sbatch printed
}

// Submit passes a script to sbatch. The error is an *Error whose class says
// whether the job may exist nevertheless (Ambiguous).
func (c *Client) Submit(ctx context.Context, s Submission) (Submitted, error) {
	cmd := Command{Program: Sbatch, Args: append([]string{"--parsable"}, s.Args...), Dir: s.Dir, Env: s.Env}
	if s.Path != "" {
		cmd.Args = append(cmd.Args, s.Path)
	} else {
		cmd.Stdin = s.Script
	}
	out, err := c.call(ctx, cmd, requiredCall)
	if err != nil {
		return Submitted{}, err
	}
	job, err := parseSubmitted(out.Stdout)
	if err != nil {
		return Submitted{}, &Error{Program: Sbatch, Class: Ambiguous, Code: "garbled", Err: err}
	}
	job.Warning = oneLine(out.Stderr)
	return job, nil
}

// Limits of a usable estimate: clocks may differ by estimatePast, and a start that is a
// year away means nothing.
const (
	estimatePast   = 5 * time.Minute
	estimateFuture = 365 * 24 * time.Hour
)

// Estimate returns when Slurm expects this job to start if it were submitted now, not
// before now. It submits nothing. The error is an *Error: a rejection has the class that
// Submit would return; everything else without a usable time is Unavailable, or Withheld.
func (c *Client) Estimate(ctx context.Context, s Submission) (time.Time, error) {
	out, err := c.call(ctx, Command{
		Program: Sbatch, Args: append([]string{"--test-only"}, s.Args...), Stdin: s.Script, Dir: s.Dir,
		Env: []string{"SLURM_TIME_FORMAT=%s"},
	}, optionalCall)
	if e := (*Error)(nil); errors.As(err, &e) {
		if e.Class == Ambiguous { // there is nothing that may have been done
			e.Class = Unavailable
		}
		return time.Time{}, err
	}
	_, rest, _ := strings.Cut(string(out.Stderr), " to start at ")
	word, _, ok := strings.Cut(rest, " ")
	start, err := ParseTime(word)
	if !ok || err != nil || start.IsZero() {
		return time.Time{}, garbled(Sbatch, "no start time in "+oneLine(out.Stderr))
	}
	now := c.now()
	switch wait := start.Sub(now); {
	case wait < -estimatePast:
		return time.Time{}, absurd(fmt.Sprintf("the start time %s has passed", start.Format(time.RFC3339)))
	case wait > estimateFuture:
		return time.Time{}, absurd(fmt.Sprintf("the start time %s is too far away", start.Format(time.RFC3339)))
	case wait < 0:
		return now, nil
	}
	return start, nil
}

// absurd returns the error of an estimate that cannot be right.
func absurd(why string) *Error {
	return &Error{Program: Sbatch, Class: Unavailable, Code: "absurd", Text: why}
}

// parseSubmitted finds the last line of the form ID[;CLUSTER], or the sentence that
// sbatch writes without --parsable. Wrappers of sites may write more. A line without a
// line break may be truncated, and would then name another job.
func parseSubmitted(out []byte) (Submitted, error) {
	var found Submitted
	for line := range strings.Lines(string(out)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "Submitted batch job "); ok {
			id, cluster, _ := strings.Cut(rest, " on cluster ")
			line = id + ";" + cluster
		}
		number, cluster, _ := strings.Cut(line, ";")
		if id, err := ParseJobID(number); err == nil {
			found = Submitted{ID: id, Cluster: cluster}
		}
	}
	if found.ID.IsZero() {
		return Submitted{}, fmt.Errorf("no job id in the output of sbatch: %q", oneLine(out))
	}
	return found, nil
}
