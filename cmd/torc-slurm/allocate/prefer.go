package allocate

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// preference is the value of --prefer.
type preference string

// AddPrefer gives a command --prefer.
func AddPrefer(cmd *cobra.Command, prefer *string) {
	cmd.Flags().Var((*preference)(prefer), "prefer", "`WHAT` counts more when the daemon decides: time, cost (few idle core-hours) or balanced (default: prefer of the action, else balanced)")
	cli.CompleteWords(cmd, "prefer", workflow.Preferences()...)
}

// String returns the preference; empty if there is none.
func (p *preference) String() string { return string(*p) }

// Type returns the name of the type of the flag.
func (p *preference) Type() string { return "string" }

// Set rejects what is no preference.
func (p *preference) Set(text string) error {
	if !slices.Contains(workflow.Preferences(), text) {
		return cli.UsageErrorf("it is time, balanced or cost")
	}
	*p = preference(text)
	return nil
}
