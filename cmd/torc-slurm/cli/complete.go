package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
)

// completeTime is how long a completion may take; nobody waits longer for a
// tabulator.
const completeTime = 2 * time.Second

const (
	// completeCount is how many completions are offered.
	completeCount = 500
	// completeScan is how many jobs are looked at for them.
	completeScan = 20_000
)

// Completer offers words that begin as what was typed.
type Completer = func(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective)

// CompleteSpecs offers files with the extensions of specifications.
func CompleteSpecs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var extensions []string
	for _, e := range SpecExtensions {
		extensions = append(extensions, strings.TrimPrefix(e, "."))
	}
	return extensions, cobra.ShellCompDirectiveFilterFileExt
}

// CompleteSpecOrWorkflow offers ids of workflows to a number, else files.
func (a *Factory) CompleteSpecOrWorkflow(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if start == "" || strings.Trim(start, "0123456789") != "" {
		return CompleteSpecs(c, args, start)
	}
	return CompleteWorkflows(a, 1)(c, args, start)
}

// CompleteWorkflows offers the ids of workflows for up to n arguments; without
// limit if n is 0.
func CompleteWorkflows(a *Factory, n int) Completer {
	return func(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if n > 0 && len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeFrom(a, c, func(ctx context.Context, conn *Connection) (found []string, err error) {
			filter := client.WorkflowFilter{User: a.User(), Page: client.Page{Limit: completeCount, SortBy: "id", Reverse: true}}
			for w, err := range conn.Workflows.List(ctx, filter) {
				if err != nil {
					return nil, err
				}
				if text := OrEmpty(w.ID); strings.HasPrefix(text, start) {
					found = append(found, cobra.CompletionWithDesc(text, Printable(w.Name)))
				}
			}
			return found, nil
		})
	}
}

// CompleteJobs offers the names of jobs of a workflow, or ids to a number.
func CompleteJobs(a *Factory, workflowText *string) Completer {
	return func(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeFrom(a, c, func(ctx context.Context, conn *Connection) (found []string, err error) {
			id, err := a.LatestWorkflowID(ctx, conn, *workflowText)
			if err != nil {
				return nil, err
			}
			numeric := start != "" && strings.Trim(start, "0123456789") == ""
			filter := client.JobFilter{WorkflowID: id, Page: client.Page{Limit: completeScan}}
			for job, err := range conn.Jobs.List(ctx, filter) {
				if err != nil || len(found) == completeCount {
					return found, err
				}
				switch text := fmt.Sprint(*job.ID); {
				case numeric && strings.HasPrefix(text, start):
					found = append(found, cobra.CompletionWithDesc(text, Printable(job.Name)))
				case !numeric && strings.HasPrefix(job.Name, start):
					found = append(found, cobra.CompletionWithDesc(job.Name, job.Status.String()))
				}
			}
			return found, nil
		})
	}
}

// completeFrom asks a server that runs already; a completion starts none and
// reports no errors.
func completeFrom(a *Factory, c *cobra.Command, find func(context.Context, *Connection) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completeTime)
	defer cancel()
	if a.Configure(c) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	conn, err := a.ConnectRunning(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := find(ctx, conn)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// SpecExtensions are those of specifications.
var SpecExtensions = []string{".yaml", ".yml", ".json", ".json5", ".kdl"}
