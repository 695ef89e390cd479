package main

import (
	"io"

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
				if _, err := io.WriteString(a.Stdout, withoutPackage); err != nil {
					return err
				}
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

// withoutPackage defines what a completion script needs of the package bash-completion, where
// that is not installed.
const withoutPackage = `# Where the package bash-completion is not loaded:
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    # Sets cur, prev, words and cword; words end at blanks alone.
    _get_comp_words_by_ref() {
        local line=${COMP_LINE:0:COMP_POINT}
        IFS=$' \t\n' read -ra words <<<"$line"
        [[ $line == *[[:blank:]] || -z $line ]] && words+=("")
        cword=$((${#words[@]} - 1)) cur=${words[-1]} prev=
        ((cword == 0)) || prev=${words[cword - 1]}
    }
fi
if ! declare -F __ltrim_colon_completions >/dev/null; then
    # Removes from replies what readline has taken for earlier words, up to the last colon.
    __ltrim_colon_completions() {
        [[ $1 == *:* && $COMP_WORDBREAKS == *:* ]] || return 0
        local i
        for i in "${!COMPREPLY[@]}"; do
            COMPREPLY[i]=${COMPREPLY[i]#"${1%"${1##*:}"}"}
        done
    }
fi
if ! declare -F _filedir >/dev/null; then
    # Completes files, with -d folders; it does not select by extension.
    _filedir() {
        local kind=-f IFS=$'\n'
        [[ ${1-} != -d ]] || kind=-d
        COMPREPLY+=($(compgen "$kind" -- "$cur"))
        compopt -o filenames 2>/dev/null
    }
fi
`
