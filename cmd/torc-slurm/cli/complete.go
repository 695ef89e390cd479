package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
)

// completeTime is how long a completion may take; nobody waits longer after a tab.
const completeTime = 2 * time.Second

const (
	// completeCount is the maximum number of completions.
	completeCount = 500
	// completeScan is the maximum number of jobs that are read for them.
	completeScan = 20_000
)

// Completer returns the completions of start.
type Completer = func(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective)

// CompleteSpecs completes files with the extensions of specifications.
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

// CompleteSpecOrWorkflow completes a number to ids of workflows, everything else to files.
func (a *Factory) CompleteSpecOrWorkflow(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if start == "" || strings.Trim(start, "0123456789") != "" {
		return CompleteSpecs(c, args, start)
	}
	return CompleteWorkflows(a, 1)(c, args, start)
}

// CompleteWorkflows completes ids of workflows for up to n arguments; without limit if n
// is 0.
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

// CompleteJobs completes names of jobs of a workflow; a number to ids.
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

// completeFrom returns the words that find returns for a running server. It starts no
// server and ignores errors.
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

// SpecExtensions are the file name extensions of specifications.
var SpecExtensions = []string{".yaml", ".yml", ".json", ".json5", ".kdl"}
