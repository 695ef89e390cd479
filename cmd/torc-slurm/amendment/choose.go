// Package amendment continues the workflow that was created from a specification before,
// instead of creating another one: only what has changed runs again.
package amendment

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// The values of --resume besides the id of a workflow, and of run.resume in the
// configuration.
const (
	Never  = "never"
	Ask    = "ask"
	Always = "always"
)

// Flags are the flags of commands that can continue an earlier workflow of a specification.
type Flags struct {
	Resume string
}

// Add adds --resume.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Resume, "resume", "", "continue the earlier workflow of this specification, or the `ID`: what is unchanged does not run again (--resume=never|ask|always overrides run.resume of the configuration)")
	flags.Lookup("resume").NoOptDefVal = Always
}

// SplitArgs returns the specification of the arguments. The id of a workflow may follow
// --resume after a space.
func (f *Flags) SplitArgs(a *cli.Factory, args []string) (target string, err error) {
	if len(args) == 1 {
		return args[0], nil
	}
	for i, arg := range args {
		if _, err := cli.ParseID("workflow", arg); err == nil && f.Resume == Always && specfile.IsSpec(a, args[1-i]) && !cli.Exists(a, arg) {
			f.Resume = arg
			return args[1-i], nil
		}
	}
	return "", cli.UsageErrorf("give one specification or workflow, not %s", strings.Join(args, " "))
}

// mode returns what to do about an earlier workflow, and the workflow that was named; 0 if
// none was. It returns a usage error for another value.
func (f *Flags) mode(a *cli.Factory) (mode string, id int64, err error) {
	given, from := f.Resume, "--resume"
	if given == "" {
		given, from = a.Config.Client.Run.Resume, "configuration: client.run.resume"
	}
	switch given {
	case "", Never:
		return Never, 0, nil
	case Ask, Always:
		return given, 0, nil
	}
	if id, err = cli.ParseID("workflow", given); err != nil || f.Resume == "" {
		return "", 0, cli.UsageErrorf("%s is %q; it must be never, ask or always (--resume also takes the id of a workflow)", from, given)
	}
	return Always, id, nil
}

// Refuse returns a usage error if --resume was given for something else than a
// specification.
func (f *Flags) Refuse(target string) error {
	if f.Resume == "" || f.Resume == Never {
		return nil
	}
	return cli.UsageErrorf("--resume is for specifications; `torc-slurm run %s` continues a workflow as it is", target)
}

// MayResume reports whether an earlier workflow may be continued.
func (f *Flags) MayResume(a *cli.Factory) bool {
	mode, _, err := f.mode(a)
	return err == nil && mode != Never
}

// Preview shows what the specification would change in its earlier workflow, and reports
// whether there is one to be continued.
func (f *Flags) Preview(ctx context.Context, a *cli.Factory, d *workflow.Definition) (shown bool, err error) {
	mode, _, err := f.mode(a)
	if err != nil || mode == Never || mode == Ask && f.Resume == "" {
		return false, err
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return false, err
	}
	choice, err := f.Choose(ctx, a, c, d)
	if err != nil || choice.Workflow == nil {
		return false, err
	}
	return true, choice.DryRun(ctx, a, c, d)
}

// Choice is the workflow to continue.
type Choice struct {
	Workflow *api.Workflow // nil: none, so that a new one is to be created
	named    bool          // the user named it
	ask      bool          // whether to continue it
}

// Choose returns the earlier workflow of a specification if it is to be continued. If it is
// not, a note names it.
func (f *Flags) Choose(ctx context.Context, a *cli.Factory, c *cli.Connection, d *workflow.Definition) (Choice, error) {
	mode, id, err := f.mode(a)
	if err != nil {
		return Choice{}, err
	}
	if f.Resume == Never {
		return Choice{}, nil
	}
	if id != 0 {
		w, err := c.Workflows.Get(ctx, id)
		return Choice{Workflow: w, named: true}, err
	}
	w, err := earlier(ctx, c, d)
	switch {
	case err != nil && mode == Never: // it would only have been mentioned
		return Choice{}, nil
	case err != nil:
		return Choice{}, err
	case w == nil:
		if f.Resume != "" {
			a.Note("No earlier workflow was created from this specification, so a new one is created")
		}
		return Choice{}, nil
	case mode == Never:
		a.Note("Workflow %d was created from this file before; with --resume only what has changed since would run", *w.ID)
		return Choice{}, nil
	case mode == Ask && !a.StdinTerminal:
		a.Note("Workflow %d was created from this file before; --resume continues it", *w.ID)
		return Choice{}, nil
	}
	return Choice{Workflow: w, ask: mode == Ask}, nil
}

// earlier returns the newest workflow that its user created from a specification and did not
// archive; nil if there is none.
func earlier(ctx context.Context, c *cli.Connection, d *workflow.Definition) (*api.Workflow, error) {
	if d.SpecPath == "" {
		return nil, nil
	}
	archived := false
	filter := client.WorkflowFilter{User: d.User, SpecPath: d.SpecPath, IsArchived: &archived, Page: client.Page{Limit: 1, SortBy: "id", Reverse: true}}
	for w, err := range c.Workflows.List(ctx, filter) {
		if err != nil {
			return nil, fmt.Errorf("find the earlier workflow of %s: %w", d.SpecPath, err)
		}
		return &w, nil
	}
	return nil, nil
}
