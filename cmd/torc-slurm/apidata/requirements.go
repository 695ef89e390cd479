package apidata

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// RequirementsByID are the resource requirements of a workflow.
func RequirementsByID(ctx context.Context, c *cli.Connection, workflowID int64) (map[int64]api.ResourceRequirements, error) {
	byID := make(map[int64]api.ResourceRequirements)
	for rr, err := range c.ResourceRequirements.List(ctx, client.ResourceRequirementsFilter{WorkflowID: workflowID}) {
		if err != nil {
			return nil, err
		}
		byID[cli.OrZero(rr.ID)] = rr
	}
	return byID, nil
}

// RulesSummary says in a line what the rules of a failure handler do.
func RulesSummary(text string) string {
	var rules []workflow.FailureRule
	if json.Unmarshal([]byte(text), &rules) != nil {
		return text
	}
	var parts []string
	for _, r := range rules {
		what := "exit " + cli.Joined(r.ExitCodes)
		if r.MatchAllExitCodes {
			what = "any failure"
		}
		part := fmt.Sprintf("%s: %s", what, workflow.CountOf(int64(r.MaxRetries), "attempt", "attempts"))
		if r.RecoveryScript != "" {
			part += " after " + r.RecoveryScript
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// DomainRequirements returns resource requirements as the workflow package has them.
func DomainRequirements(r api.ResourceRequirements) workflow.ResourceRequirements {
	return workflow.ResourceRequirements{
		ID: cli.OrZero(r.ID), WorkflowID: r.WorkflowID, Name: r.Name, NumCPUs: cli.OrZero(r.NumCPUs), NumGPUs: cli.OrZero(r.NumGPUs),
		NumNodes: cli.OrZero(r.NumNodes), Memory: cli.OrEmpty(r.Memory), Runtime: cli.OrEmpty(r.Runtime),
	}
}

// CheckRequirements rejects what the server would reject. It writes a runtime of another form as the
// server takes it.
func CheckRequirements(rr *api.ResourceRequirements) error {
	for _, n := range []struct {
		what  string
		value *int64
		least int64
	}{{"CPUs", rr.NumCPUs, 1}, {"GPUs", rr.NumGPUs, 0}, {"nodes", rr.NumNodes, 1}} {
		if n.value != nil && *n.value < n.least {
			return cli.UsageErrorf("%d %s: at least %d", *n.value, n.what, n.least)
		}
	}
	if rr.Memory != nil {
		if _, err := workflow.ParseMemory(*rr.Memory); err != nil {
			return err
		}
	}
	if rr.Runtime != nil {
		if _, err := workflow.ParseRuntime(*rr.Runtime); err != nil {
			runtime, err := workflow.CanonicalRuntime(*rr.Runtime)
			if err != nil {
				return err
			}
			*rr.Runtime = runtime
		}
	}
	return nil
}
