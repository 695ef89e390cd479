package core

import (
	"maps"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// Changed logs a change that the caller of a use case asked for; what the daemon does by
// itself has events of its own.
func Changed(tx *Tx, workflowID int64, action string, details map[string]any) error {
	if tx.Door == audit.Rule {
		return nil
	}
	return UserAction(tx, workflowID, tx.User, action, details)
}

// Updated logs the fields in which something differs after an update, if there are any.
func Updated[T any](tx *Tx, workflowID int64, action string, details map[string]any, before, after T) error {
	if tx.Door == audit.Rule {
		return nil
	}
	keys := audit.Differences(before, after)
	if len(keys) == 0 {
		return nil
	}
	details["keys"] = keys
	return Changed(tx, workflowID, action, details)
}

// UserAction logs an action of a user.
func UserAction(tx *Tx, workflowID int64, user, action string, details map[string]any) error {
	data := map[string]any{"category": event.CategoryUser, "action": action, "user": user, "workflow_id": workflowID}
	if tx.Door != audit.Rule {
		data["door"] = tx.Door
	}
	maps.Copy(data, details)
	return tx.Event(workflowID, string(workflow.EventUserAction), event.SeverityInfo, data)
}
