package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ParseID parses the id of a thing; the error is one of usage.
func ParseID(thing, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		article := "a"
		if strings.ContainsAny(thing[:1], "aeio") { // a user data record
			article = "an"
		}
		return 0, UsageErrorf("%q is not the id of %s %s: ids are numbers from 1", text, article, thing)
	}
	return id, nil
}

// ParseIDs parses the ids of things; the error is one of usage.
func ParseIDs(thing string, texts []string) ([]int64, error) {
	ids := make([]int64, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = ParseID(thing, text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// SomeWorkflow parses the optional id of a workflow; 0 without one, for all.
func SomeWorkflow(args []string) (int64, error) {
	if len(args) == 0 {
		return 0, nil
	}
	return ParseID("workflow", args[0])
}

// FirstArg returns the first argument, empty if there is none.
func FirstArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// WorkflowID parses the id of a workflow. Without one it returns the user's only workflow,
// or the one that the user chooses on a terminal.
func (a *Factory) WorkflowID(ctx context.Context, c *Connection, text string) (int64, error) {
	if text != "" {
		return ParseID("workflow", text)
	}
	all, err := a.ownWorkflows(ctx, c)
	if err != nil {
		return 0, err
	}
	if len(all) == 1 {
		return *all[0].ID, nil
	}
	if !a.StdinTerminal || a.Format != FormatTable {
		return 0, UsageErrorf("you have %d workflows; give the id of one (see `%s workflows list`)", len(all), Prefix(a))
	}
	return a.chooseWorkflow(all)
}

// LatestWorkflowID is WorkflowID for commands that change nothing: without an id it returns
// the user's latest workflow.
func (a *Factory) LatestWorkflowID(ctx context.Context, c *Connection, text string) (int64, error) {
	if text != "" {
		return ParseID("workflow", text)
	}
	all, err := a.ownWorkflows(ctx, c)
	if err != nil {
		return 0, err
	}
	return *all[len(all)-1].ID, nil
}

// ownWorkflows returns the user's workflows that are not archived; an error if there are
// none.
func (a *Factory) ownWorkflows(ctx context.Context, c *Connection) ([]api.Workflow, error) {
	archived := false
	all, err := client.Collect(c.Workflows.List(ctx, client.WorkflowFilter{User: a.User(), IsArchived: &archived}))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, workflow.Errorf(workflow.CodeNotFound, "user %s has no workflow here", a.User()).
			WithHint("`%[1]s create SPEC` creates one; `%[1]s workflows list --all-users` lists those of all users", Prefix(a))
	}
	return all, nil
}

// shownChoices is how many of the latest workflows are offered for choice.
const shownChoices = 20

func (a *Factory) chooseWorkflow(all []api.Workflow) (int64, error) {
	shown := all[max(0, len(all)-shownChoices):]
	rows := make([][]string, len(shown))
	for i, w := range shown {
		rows[i] = []string{OrEmpty(w.ID), w.Name, OrEmpty(w.Timestamp), OrEmpty(w.Description)}
	}
	WriteTable(a.Stderr, []string{"ID", "Name", "Created", "Description"}, rows, a.Width())
	answer, err := a.Ask(fmt.Sprintf("Workflow [%d]: ", *shown[len(shown)-1].ID))
	if err != nil {
		return 0, err
	}
	if answer == "" {
		return *shown[len(shown)-1].ID, nil
	}
	return ParseID("workflow", answer)
}

// JobID returns the id of a job by its id, or by its name in a workflow; the user's latest
// if workflowText is empty.
func (a *Factory) JobID(ctx context.Context, c *Connection, ref, workflowText string) (int64, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil && id > 0 && workflowText == "" {
		return id, nil
	}
	workflowID, err := a.LatestWorkflowID(ctx, c, workflowText)
	if err != nil {
		return 0, err
	}
	return a.JobNamed(ctx, c, workflowID, ref)
}

// JobNamed returns the id of a job of a workflow by its name or id.
func (a *Factory) JobNamed(ctx context.Context, c *Connection, workflowID int64, ref string) (int64, error) {
	named, err := client.Collect(c.Jobs.List(ctx, client.JobFilter{WorkflowID: workflowID, Name: ref}))
	if err != nil {
		return 0, err
	}
	if len(named) > 0 {
		return *named[0].ID, nil
	}
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil && id > 0 {
		job, err := c.Jobs.Get(ctx, id)
		if err != nil {
			return 0, err
		}
		if job.WorkflowID == workflowID {
			return id, nil
		}
	}
	return 0, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no job %q", workflowID, ref).
		WithHint("`%s jobs list %d` lists them; -w chooses another workflow", Prefix(a), workflowID)
}
