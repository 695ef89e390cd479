package main

import (
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

func newCompletionsCommand(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "completions bash|zsh|fish|powershell",
		Short:   "Write the completion script of a shell",
		GroupID: cli.GroupUtility,
		Example: `  source <(torc-slurm completions bash)
  torc-slurm completions zsh >"${fpath[1]}/_torc-slurm"
  torc-slurm completions fish >~/.config/fish/completions/torc-slurm.fish`,
		Args:        cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs:   []string{"bash", "zsh", "fish", "powershell"},
		Annotations: cli.Exits(),
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.Stdout)
			case "fish":
				return root.GenFishCompletion(a.Stdout, true)
			}
			return root.GenPowerShellCompletionWithDesc(a.Stdout)
		},
	}
}
