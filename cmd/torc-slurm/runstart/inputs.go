package runstart

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// CheckInputs returns CodeConflict if files are missing that jobs of a definition read and
// no job writes.
func CheckInputs(a *cli.Factory, d *workflow.Definition) error {
	exists := func(path string) bool { return cli.Exists(a, path) }
	return missingFiles(slices.DeleteFunc(d.RequiredInputs(), exists))
}

// checkRequired returns CodeConflict if required files of a workflow are missing. Relative
// paths start at the folder where it was submitted.
func checkRequired(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	dir, err := outputdir.SubmissionDir(ctx, a, c, id)
	if err != nil {
		return err
	}
	var missing []string
	for _, path := range paths {
		if !cli.Exists(a, cli.PathIn(dir, path)) {
			missing = append(missing, path)
		}
	}
	return missingFiles(missing)
}

func missingFiles(paths []string) error {
	const shown = 10
	if len(paths) == 0 {
		return nil
	}
	text := strings.Join(paths[:min(shown, len(paths))], ", ")
	if more := len(paths) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return workflow.Errorf(workflow.CodeConflict, "jobs read files that do not exist: %s", text).
		WithHint("no remaining job writes them; relative paths start at the folder where the workflow was submitted")
}
