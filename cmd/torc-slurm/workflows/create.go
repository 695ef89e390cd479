package workflows

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/spec"
)

// NewCreate returns the command that creates a workflow from a specification.
func NewCreate(a *cli.Factory) *cobra.Command {
	var flags specfile.Flags
	dryRun := false
	c := &cobra.Command{
		Use:   "create SPEC",
		Short: "Create a workflow from a specification",
		Long: `Create a workflow from a specification in YAML, JSON, JSON5 or KDL; - reads it
from standard input. Nothing runs before ` + "`torc-slurm run ID`" + `.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm create sweep.yaml
  torc-slurm create --dry-run sweep.yaml     check it, count jobs, create nothing
  generate | torc-slurm create -
  torc-slurm -f json create sweep.yaml | jq .workflow_id`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.CompleteSpecs,
		Annotations:       cli.ServerExits(cli.ExitInvalidSpec),
		RunE: func(c *cobra.Command, args []string) error {
			if dryRun {
				return validateSpec(a, args[0], flags)
			}
			return runCreate(c.Context(), a, args[0], flags)
		},
	}
	c.Flags().BoolVar(&flags.NoMonitoring, "no-resource-monitoring", false, "do not measure jobs if the specification says nothing about it")
	c.Flags().BoolVar(&flags.SkipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check the specification and create nothing")
	return c
}

func runCreate(ctx context.Context, a *cli.Factory, path string, flags specfile.Flags) error {
	loaded, err := specfile.Load(a, path, flags)
	if err != nil {
		return err
	}
	if err := specfile.ConfirmWarnings(a, loaded.Warnings); err != nil {
		return err
	}
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	id, err := specfile.Create(ctx, conn, loaded.Definition)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Created workflow %d", id)
	return a.ShowMessage(struct {
		WorkflowID int64  `json:"workflow_id"`
		Status     string `json:"status"`
		Message    string `json:"message"`
	}{id, "success", message}, "%s", message)
}

// validateSpec says what is wrong with a specification and what it contains.
func validateSpec(a *cli.Factory, path string, flags specfile.Flags) error {
	v, err := spec.Validate(path, specfile.Options(a, flags))
	if err != nil {
		return err
	}
	if err := a.ShowRecord(v, func(w io.Writer) { writeValidation(w, v) }); err != nil {
		return err
	}
	if !v.Valid {
		return cli.Silent(cli.ExitInvalidSpec)
	}
	return nil
}

func writeValidation(w io.Writer, v *spec.Validation) {
	if len(v.Problems) > 0 {
		fmt.Fprintln(w, v.Problems.Render())
	}
	for _, d := range v.Doubts {
		fmt.Fprintf(w, "warning: %s\n", d.Render())
	}
	if !v.Valid {
		fmt.Fprintln(w, "The specification is invalid.")
		return
	}
	s := v.Summary
	expanded := func(n, before int) string {
		if n == before {
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("%d, from %d entries", n, before)
	}
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	cli.WriteFields(w,
		cli.Field{"Workflow", s.WorkflowName}, cli.Field{"Description", cli.OrEmpty(s.WorkflowDescription)},
		cli.Field{"Jobs", expanded(s.JobCount, s.JobCountBeforeExpansion)},
		cli.Field{"Files", expanded(s.FileCount, s.FileCountBeforeExpansion)},
		cli.Field{"User data", count(s.UserDataCount)}, cli.Field{"Resource requirements", count(s.ResourceRequirementsCount)},
		cli.Field{"Slurm schedulers", count(s.SlurmSchedulerCount)}, cli.Field{"Actions", count(s.ActionCount)})
	fmt.Fprintln(w, "The specification is valid.")
}
