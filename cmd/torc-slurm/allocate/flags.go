package allocate

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
)

// Flags are those of commands that request allocations.
type Flags struct {
	OutputDir    string
	MaxParallel  int64
	pollInterval float64
	claimBackoff float64
	NoPrompts    bool
	Prefer       string
}

// Add gives a command the flags; outputName is how that of the output directory is
// called.
func (f *Flags) Add(cmd *cobra.Command, outputName string) {
	s := cmd.Flags()
	s.StringVarP(&f.OutputDir, outputName, "o", "", "`DIR` for the output of jobs, on a file system that the nodes see (default torc_output)")
	s.Int64VarP(&f.MaxParallel, "max-parallel-jobs", "m", 0, "run `N` jobs at a time in each allocation, whatever they need")
	cli.AddNoPrompts(s, &f.NoPrompts)
	AddPrefer(cmd, &f.Prefer)
	s.Float64VarP(&f.pollInterval, "poll-interval", "p", 0, "accepted for compatibility: jobs are handed out without polling")
	s.Float64Var(&f.claimBackoff, "claim-backoff-max-secs", 0, "accepted for compatibility")
	_ = s.MarkHidden("poll-interval")
	_ = s.MarkHidden("claim-backoff-max-secs")
}

// Dir creates the output directory and returns its absolute path.
func (f *Flags) Dir(a *cli.Factory) (string, error) {
	dir := a.Path(cli.FirstOf(f.OutputDir, a.Config.Client.Run.OutputDir))
	return dir, outputdir.Make(dir)
}

// DirOf creates the output directory of an existing workflow and returns its absolute path.
// Without a flag it is in the folder where the workflow was submitted.
func (f *Flags) DirOf(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (string, error) {
	dir, err := f.PathOf(ctx, a, c, id)
	if err != nil {
		return "", err
	}
	return dir, outputdir.Make(dir)
}

// PathOf returns the path that DirOf returns, and creates nothing.
func (f *Flags) PathOf(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (string, error) {
	if f.OutputDir != "" {
		return a.Path(f.OutputDir), nil
	}
	submitted, err := outputdir.SubmissionDir(ctx, a, c, id)
	if err != nil {
		return "", err
	}
	return cli.PathIn(submitted, a.Config.Client.Run.OutputDir), nil
}

// Create requests allocations from Slurm.
func Create(ctx context.Context, c *cli.Connection, id int64, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer, err := c.Allocations.Create(ctx, id, r)
	if err == nil {
		return answer, nil
	}
	err = fmt.Errorf("ask Slurm for allocations of workflow %d: %w", id, err)
	var no *client.APIError
	if errors.As(err, &no) && (no.Status == http.StatusConflict || no.Status == http.StatusServiceUnavailable) {
		err = &cli.ExitError{Status: cli.ExitFailed, Err: err} // it is Slurm's, not the server's
	}
	return nil, err
}

// SlurmIDs lists the Slurm jobs of allocations.
func SlurmIDs(all []api.Allocation) string {
	ids := make([]string, len(all))
	for i, x := range all {
		ids[i] = "(not yet known)"
		if x.SlurmJobID != 0 {
			ids[i] = fmt.Sprint(x.SlurmJobID)
		}
	}
	return cli.FirstNames(ids)
}
