package api

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// StoredPolicy is a retry policy that workflows, jobs and queues refer to by name.
type StoredPolicy struct {
	Policy    workflow.RetryPolicy `json:"policy"`
	Hash      string               `json:"hash"`
	Version   int64                `json:"version"`
	CreatedMS int64                `json:"created_ms"`
	UpdatedMS int64                `json:"updated_ms"`
}

// PolicyChange is an entry of the log of changes of retry policies.
type PolicyChange struct {
	ID      int64  `json:"id"`
	Policy  string `json:"policy"` // its name; empty: the settings
	Action  string `json:"action"`
	AtMS    int64  `json:"at_ms"`
	Author  string `json:"author"`
	Detail  string `json:"detail,omitempty"`
	OldHash string `json:"old_hash,omitempty"`
	NewHash string `json:"new_hash,omitempty"`
	Version int64  `json:"version,omitempty"`
	// Text is the new text of the policy.
	Text json.RawMessage `json:"text,omitempty"`
}

// QueuePolicyList lists the queues with policies of the site.
type QueuePolicyList struct {
	Queues []workflow.QueuePolicies `json:"queues"`
}
