// Package specfile reads the specifications that commands get as arguments, and creates
// workflows from them.
package specfile

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Flags are the flags of commands that read a specification.
type Flags struct {
	NoMonitoring bool
	SkipChecks   bool
}

// Load reads a specification and prints its warnings.
func Load(a *cli.Factory, path string, flags Flags) (*spec.Result, error) {
	loaded, err := spec.Load(path, Options(a, flags))
	if err != nil {
		return nil, err
	}
	for _, w := range loaded.Warnings {
		a.Note("warning: %s", strings.TrimRight(w.Render(), "\n"))
	}
	if path != "-" {
		loaded.Definition.SpecPath = absolute(a, path)
	}
	return loaded, nil
}

// absolute returns the path of a specification by which its workflows are found again,
// however it is reached.
func absolute(a *cli.Factory, path string) string {
	path = a.Path(path)
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return filepath.Clean(path)
}

// Options returns the options for reading a specification or a policy. A relative path is
// relative to the current folder of a.
func Options(a *cli.Factory, flags Flags) spec.Options {
	return spec.Options{
		User: a.User(), Dir: a.Dir, Stdin: a.Stdin,
		ReadFile:             func(path string) ([]byte, error) { return os.ReadFile(a.Path(path)) },
		NoResourceMonitoring: flags.NoMonitoring, SkipChecks: flags.SkipChecks,
	}
}

// ConfirmWarnings asks whether to continue if a workflow probably cannot succeed.
func ConfirmWarnings(a *cli.Factory, warnings []*spec.Warning) error {
	serious := 0
	for _, w := range warnings {
		if w.NeedsConfirmation {
			serious++
		}
	}
	if serious == 0 {
		return nil
	}
	if a.StdinTerminal && a.Format != cli.FormatJSON {
		if ok, err := a.Confirm(false, "Create the workflow anyway?"); ok || err != nil {
			return err
		}
		return cli.Silent(cli.ExitInvalidSpec)
	}
	return &cli.ExitError{Status: cli.ExitInvalidSpec, Err: workflow.Errorf(workflow.CodeInvalid, "the workflow probably cannot do its work").
		WithHint("correct the specification, or create the workflow anyway with --skip-checks")}
}

// Create creates a workflow and returns its id. It creates it completely or not at all, however
// often the request has to be repeated.
func Create(ctx context.Context, c *cli.Connection, d *workflow.Definition) (int64, error) {
	created, err := c.Workflows.CreateDefinition(ctx, d, rand.Text())
	if err != nil {
		return 0, fmt.Errorf("create workflow %q: %w", d.Name, err)
	}
	return created.WorkflowID, nil
}

// IsSpec reports whether an argument names a specification rather than a
// workflow.
func IsSpec(a *cli.Factory, arg string) bool {
	if arg == "-" {
		return true
	}
	for _, ext := range cli.SpecExtensions {
		if strings.EqualFold(filepath.Ext(arg), ext) {
			return true
		}
	}
	return cli.Exists(a, arg)
}
