package core

import (
	"maps"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// UserAction logs an action of a user.
func UserAction(tx *Tx, workflowID int64, user, action string, details map[string]any) error {
	data := map[string]any{"category": event.CategoryUser, "action": action, "user": user, "workflow_id": workflowID}
	maps.Copy(data, details)
	return tx.Event(workflowID, string(workflow.EventUserAction), event.SeverityInfo, data)
}
