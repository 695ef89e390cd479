package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// specFlags are those of commands that read a specification.
type specFlags struct {
	noMonitoring bool
	skipChecks   bool
}

func newCreateCommand(a *app) *cobra.Command {
	var flags specFlags
	dryRun := false
	c := &cobra.Command{
		Use:   "create SPEC",
		Short: "Create a workflow from a specification",
		Long: `Create a workflow from a specification in YAML, JSON, JSON5 or KDL; - reads it
from standard input. Nothing runs before ` + "`torc-slurm run ID`" + `.`,
		GroupID: groupLifecycle,
		Example: `  torc-slurm create sweep.yaml
  torc-slurm create --dry-run sweep.yaml     check it, count jobs, create nothing
  generate | torc-slurm create -
  torc-slurm -f json create sweep.yaml | jq .workflow_id`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSpecs,
		Annotations:       serverExits(exitInvalidSpec),
		RunE: func(c *cobra.Command, args []string) error {
			if dryRun {
				return a.validateSpec(args[0], flags)
			}
			return a.runCreate(c.Context(), args[0], flags)
		},
	}
	c.Flags().BoolVar(&flags.noMonitoring, "no-resource-monitoring", false, "do not measure jobs if the specification says nothing about it")
	c.Flags().BoolVar(&flags.skipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check the specification and create nothing")
	return c
}

func (a *app) runCreate(ctx context.Context, path string, flags specFlags) error {
	loaded, err := a.loadSpec(path, flags)
	if err != nil {
		return err
	}
	if err := a.confirmWarnings(loaded.Warnings); err != nil {
		return err
	}
	conn, err := a.connect(ctx)
	if err != nil {
		return err
	}
	id, err := conn.create(ctx, loaded.Definition)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Created workflow %d", id)
	return a.showMessage(struct {
		WorkflowID int64  `json:"workflow_id"`
		Status     string `json:"status"`
		Message    string `json:"message"`
	}{id, "success", message}, "%s", message)
}

// loadSpec reads a specification and tells its warnings.
func (a *app) loadSpec(path string, flags specFlags) (*spec.Result, error) {
	loaded, err := spec.Load(path, a.specOptions(flags))
	if err != nil {
		return nil, err
	}
	for _, w := range loaded.Warnings {
		a.note("warning: %s", strings.TrimRight(w.Render(), "\n"))
	}
	return loaded, nil
}

func (a *app) specOptions(flags specFlags) spec.Options {
	return spec.Options{
		User: a.user(), Dir: a.Dir, Stdin: a.Stdin,
		NoResourceMonitoring: flags.noMonitoring, SkipChecks: flags.skipChecks,
	}
}

// confirmWarnings asks whether to go on if a workflow probably cannot do its
// work.
func (a *app) confirmWarnings(warnings []*spec.Warning) error {
	serious := 0
	for _, w := range warnings {
		if w.NeedsConfirmation {
			serious++
		}
	}
	if serious == 0 {
		return nil
	}
	if a.StdinTerminal && a.format != formatJSON {
		if ok, err := a.confirm(false, "Create the workflow all the same?"); ok || err != nil {
			return err
		}
		return silent(exitInvalidSpec)
	}
	return &exitError{exitInvalidSpec, workflow.Errorf(workflow.CodeInvalid, "the workflow probably cannot do its work").
		WithHint("mend the specification, or create it all the same with --skip-checks")}
}

// create makes a workflow; it is all there or not at all, however often the
// request has to be repeated.
func (c *connection) create(ctx context.Context, d *workflow.Definition) (int64, error) {
	created, err := c.CreateDefinition(ctx, d, rand.Text())
	if err != nil {
		return 0, fmt.Errorf("create workflow %q: %w", d.Name, err)
	}
	return created.WorkflowID, nil
}

// validateSpec says what is wrong with a specification and what it contains.
func (a *app) validateSpec(path string, flags specFlags) error {
	v, err := spec.Validate(path, a.specOptions(flags))
	if err != nil {
		return err
	}
	if err := a.showRecord(v, func(w io.Writer) { writeValidation(w, v) }); err != nil {
		return err
	}
	if !v.Valid {
		return silent(exitInvalidSpec)
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
	writeFields(w,
		field{"Workflow", s.WorkflowName}, field{"Description", orEmpty(s.WorkflowDescription)},
		field{"Jobs", expanded(s.JobCount, s.JobCountBeforeExpansion)},
		field{"Files", expanded(s.FileCount, s.FileCountBeforeExpansion)},
		field{"User data", count(s.UserDataCount)}, field{"Resource requirements", count(s.ResourceRequirementsCount)},
		field{"Slurm schedulers", count(s.SlurmSchedulerCount)}, field{"Actions", count(s.ActionCount)})
	fmt.Fprintln(w, "The specification is valid.")
}

// specExtensions are those of specifications.
var specExtensions = []string{".yaml", ".yml", ".json", ".json5", ".kdl"}

// isSpec reports whether an argument names a specification rather than a
// workflow.
func (a *app) isSpec(arg string) bool {
	if arg == "-" {
		return true
	}
	for _, ext := range specExtensions {
		if strings.EqualFold(filepath.Ext(arg), ext) {
			return true
		}
	}
	return a.exists(arg)
}
