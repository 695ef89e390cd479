package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// TestListsHaveCSV: what is called a list can be written as CSV.
func TestListsHaveCSV(t *testing.T) {
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if strings.HasPrefix(c.Name(), "list") && c.Annotations[cli.CSVAnnotation] == "" {
			t.Errorf("%s is a list without csv: withCSV", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(newRoot(&cli.Factory{}))
}
