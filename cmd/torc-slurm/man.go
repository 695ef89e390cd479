package main

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newManCommand(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages",
		Long:    "Write a manual page for each command to a folder, for the program `man`.",
		GroupID: cli.GroupUtility,
		Example: `  torc-slurm man ~/.local/share/man/man1
  man torc-slurm-run`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.Exits("5 the folder cannot be written to"),
		RunE: func(c *cobra.Command, args []string) error {
			dir := a.Path(args[0])
			if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // for whom the umask says
				return workflow.Errorf(workflow.CodeConflict, "cannot write manual pages: %v", err)
			}
			header := &doc.GenManHeader{Section: "1", Source: "torc-slurm", Manual: "torc-slurm"}
			if at, err := time.Parse(time.RFC3339, linkedTime); err == nil {
				header.Date = &at
			}
			describeExits(c.Root())
			if err := doc.GenManTree(c.Root(), header, dir); err != nil {
				return workflow.Errorf(workflow.CodeConflict, "cannot write manual pages: %v", err)
			}
			return nil
		},
	}
}

// describeExits adds the exit statuses of all commands to their descriptions.
func describeExits(c *cobra.Command) {
	if lines := c.Annotations[cli.ExitAnnotation]; lines != "" {
		var list strings.Builder
		for line := range strings.Lines(lines) {
			number, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
			list.WriteString("\n* " + number + ": " + strings.TrimSpace(meaning))
		}
		c.Long = cmp.Or(c.Long, c.Short) + "\n\n# EXIT STATUS\n" + list.String()
	}
	for _, sub := range c.Commands() {
		describeExits(sub)
	}
}
