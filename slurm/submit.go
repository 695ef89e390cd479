package slurm

import (
	"context"
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
	Warning string // what sbatch said besides
}

// Submit hands a script to Slurm. The error is an *Error whose class says
// whether the job may exist all the same (Ambiguous).
func (c *Client) Submit(ctx context.Context, s Submission) (Submitted, error) {
	cmd := Command{Program: Sbatch, Args: append([]string{"--parsable"}, s.Args...), Dir: s.Dir, Env: s.Env}
	if s.Path != "" {
		cmd.Args = append(cmd.Args, s.Path)
	} else {
		cmd.Stdin = s.Script
	}
	out, err := c.call(ctx, cmd, duty)
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

// Estimate asks when a job like this would start if it were submitted now. It
// submits nothing; a refusal is the one that Submit would meet.
func (c *Client) Estimate(ctx context.Context, s Submission) (time.Time, error) {
	out, err := c.call(ctx, Command{
		Program: Sbatch, Args: append([]string{"--test-only"}, s.Args...), Stdin: s.Script, Dir: s.Dir,
		Env: []string{"SLURM_TIME_FORMAT=%s"},
	}, nicety)
	if err != nil {
		return time.Time{}, err
	}
	_, rest, _ := strings.Cut(string(out.Stderr), " to start at ")
	word, _, ok := strings.Cut(rest, " ")
	start, err := ParseTime(word)
	if !ok || err != nil || start.IsZero() {
		return time.Time{}, garbled(Sbatch, "no start in "+oneLine(out.Stderr))
	}
	return start, nil
}

// parseSubmitted finds the last line of the form ID[;CLUSTER], or the sentence
// that sbatch writes without --parsable. Wrappers of sites may write more. A line
// without an end may have been cut, and name another job.
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
		return Submitted{}, fmt.Errorf("sbatch named no job: %q", oneLine(out))
	}
	return found, nil
}
