package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The groups of commands in the help.
const (
	GroupLifecycle  = "lifecycle"
	GroupManagement = "management"
	GroupCompute    = "compute"
	GroupAnalysis   = "analysis"
	GroupServer     = "server"
	GroupUtility    = "utility"
)

// NewGroup returns a command that only has subcommands.
func NewGroup(a *Factory, groupID, use, short string, sub ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, GroupID: groupID, RunE: a.RunGroup, Annotations: Exits(), SuggestionsMinimumDistance: 2}
	c.AddCommand(sub...)
	return c
}

// RunGroup runs a command that needs a subcommand: it prints the help, or returns a usage
// error for an unknown subcommand.
func (a *Factory) RunGroup(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	hint := fmt.Sprintf("see `%s --help`", c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return UsageErrorf("%s has no command %q; %s", c.CommandPath(), args[0], hint)
}

// OldName hides a command that exists for scripts of older versions, and returns it.
func OldName(c *cobra.Command) *cobra.Command {
	c.Hidden, c.GroupID = true, ""
	return c
}

// usageTemplate is cobra's, with the exit statuses of the command.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if gt (len .Aliases) 0}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

{{if .HasParent}}Flags{{else}}Flags of all commands{{end}}:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{with index .Annotations "exit status"}}

Exit status:
{{. | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} [command] --help" says more about a command.{{else if .HasParent}}

"{{.Root.Name}} --help" lists the flags that all commands have.{{end}}
`
