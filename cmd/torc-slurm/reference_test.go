package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/golden"
)

//go:generate go test -run TestReferenceIsCurrent -update .

const referencePath = "../../docs/reference/torc-slurm.md"

// TestReferenceIsCurrent compares the reference with the commands.
func TestReferenceIsCurrent(t *testing.T) {
	golden.Compare(t, referencePath, reference(newRoot(&cli.Factory{})))
}

// reference is the page with all commands.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Command line reference\n\nGenerated from the commands by `make generate`.\n\n")
	describe(&b, root)
	return b.String()
}

// describe writes a command and, behind it, its subcommands.
func describe(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "## %s\n\n", c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short
	}
	fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(text))
	block := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(b, "%s\n```\n%s\n```\n\n", title, trimRight(text))
		}
	}
	if c.Runnable() {
		block("", c.UseLine())
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, "Also: %s\n\n", strings.Join(c.Aliases, ", "))
	}
	block("Examples:\n", c.Example)
	block("Options:\n", c.NonInheritedFlags().FlagUsages())
	block("Exit status:\n", c.Annotations[cli.ExitAnnotation])
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			describe(b, sub)
		}
	}
}

// trimRight removes blanks at the ends of lines.
func trimRight(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// TestDocumentedCommandsExist parses each torc-slurm call in the pages for
// users: the command must exist and know the options.
func TestDocumentedCommandsExist(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/howto/*.md", "../../examples/*.md", "../../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	calls := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range codeLines(string(text)) {
			for _, args := range torcCalls(line) {
				calls++
				c, rest, err := newRoot(&cli.Factory{}).Find(args)
				if err == nil {
					err = c.ParseFlags(rest)
				}
				switch {
				case err != nil:
					t.Errorf("%s: %q: %v", page, line, err)
				case c.HasSubCommands() && c.Flags().NArg() > 0:
					t.Errorf("%s: %q: %s has no such command", page, line, c.CommandPath())
				}
			}
		}
	}
	if calls < 20 {
		t.Errorf("found only %d calls of torc-slurm", calls)
	}
}

// codeLines returns the lines of a page's code blocks that have no language.
func codeLines(page string) (lines []string) {
	inside, plain := false, false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside, plain = !inside, line == "```"
		case inside && plain:
			lines = append(lines, line)
		}
	}
	return lines
}

// torcCalls returns the arguments of each call of torc-slurm in a line.
func torcCalls(line string) (calls [][]string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil // not a command
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || filepath.Base(call.Args[0].Lit()) != "torc-slurm" {
			return true
		}
		var args []string
		for _, word := range call.Args[1:] {
			var b bytes.Buffer
			if err := syntax.NewPrinter().Print(&b, word); err != nil {
				return false
			}
			args = append(args, b.String())
		}
		calls = append(calls, args)
		return true
	})
	return calls
}
