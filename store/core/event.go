package core

import (
	"maps"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// UserAction logs an action of a user.
func UserAction(tx *Tx, workflowID int64, user, action string, details map[string]any) error {
	data := map[string]any{"category": workflow.CategoryUser, "action": action, "user": user, "workflow_id": workflowID}
	maps.Copy(data, details)
	return tx.Event(workflowID, string(workflow.EventUserAction), workflow.SeverityInfo, data)
}
