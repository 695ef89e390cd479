package slurm

import "context"

// RunningStep is a running step.
type RunningStep struct {
	ID   StepID
	Name string
}

// RunningSteps calls squeue once for the running steps of a job.
func (c *Client) RunningSteps(ctx context.Context, job JobID) ([]RunningStep, error) {
	out, err := c.ask(ctx, Squeue, "--steps", "--jobs="+job.String(), "-o", "%i"+fieldSeparator+"%j")
	if ClassOf(err) == NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := parseTable(Squeue, out.Stdout, 2)
	if err != nil {
		return nil, err
	}
	steps := make([]RunningStep, 0, len(t.rows))
	for _, row := range t.rows {
		if id, err := ParseStepID(row[0]); err == nil {
			steps = append(steps, RunningStep{ID: id, Name: row[1]})
		}
	}
	return steps, nil
}

// SignalSteps sends a signal to all processes of steps. Those that have ended
// are no error.
func (c *Client) SignalSteps(ctx context.Context, signal string, ids ...StepID) error {
	if len(ids) == 0 {
		return nil
	}
	args := []string{"--signal=" + signal}
	for _, id := range ids {
		args = append(args, id.String())
	}
	return present(c.call(ctx, Command{Program: Scancel, Args: args}, requiredCall))
}
