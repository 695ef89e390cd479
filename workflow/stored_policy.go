package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// StoredPolicy is a retry policy that workflows, jobs and queues refer to by name.
type StoredPolicy struct {
	RetryPolicy
	Hash      string // of the policy, see RetryPolicy.Hash
	Version   int64  // starts at 1, grows with each change
	CreatedMS int64
	UpdatedMS int64
}

// Hash returns a hash of the content of the policy.
func (p *RetryPolicy) Hash() string {
	text, err := json.Marshal(p)
	if err != nil { // impossible for structs of strings and numbers
		panic(fmt.Sprintf("hash retry policy %s: %v", p.Name, err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// PolicyChange is an entry in the log of changes of retry policies.
type PolicyChange struct {
	ID      int64
	Policy  string // name of the policy; empty if the settings of the server changed
	Action  PolicyAction
	AtMS    int64
	Author  string
	Detail  string // what changed besides the policy itself: the queue, the settings
	OldHash string // empty if there was no policy before
	NewHash string // empty if there is no policy any more
	Version int64
	Text    json.RawMessage // the new policy; nil if it did not change or was deleted
}

// PolicyAction says how retry policies were changed.
type PolicyAction string

// The values of PolicyAction.
const (
	PolicyCreated  PolicyAction = "created"
	PolicyUpdated  PolicyAction = "updated"
	PolicyDeleted  PolicyAction = "deleted"
	PolicyAttached PolicyAction = "attached" // to a queue
	PolicyDetached PolicyAction = "detached"
	PolicySettings PolicyAction = "settings" // the settings of the server changed
)

// Queue is an account, a partition or a scheduler to which the site attaches retry policies.
type Queue struct {
	Kind QueueKind `json:"kind"`
	Name string    `json:"name"`
}

// QueueKind is the kind of a queue.
type QueueKind string

// The kinds of queues, in the order in which their policies are tried.
const (
	QueueAccount   QueueKind = "account"   // Slurm's
	QueuePartition QueueKind = "partition" // Slurm's
	QueueScheduler QueueKind = "scheduler" // a slurm_scheduler of workflows, by its name
)

// String returns the kind and the name: "partition gpu".
func (q Queue) String() string { return string(q.Kind) + " " + q.Name }

// Validate returns all problems of the queue.
func (q Queue) Validate() []Problem {
	var found problems
	found.oneOf("kind", string(q.Kind), string(QueueAccount), string(QueuePartition), string(QueueScheduler))
	if q.Name == "" {
		found.add("name", "write the name of the account, partition or scheduler", "the name is missing")
	}
	return found
}

// QueuePolicies holds the policies that the site attached to a queue.
type QueuePolicies struct {
	Queue
	RetryPolicies []string `json:"retry_policies"` // names, in the order in which they are tried
}

// RetrySettings are settings of the server for all workflows.
type RetrySettings struct {
	// Enabled is true by default. If it is false, only failure handlers and the built-in
	// policy apply.
	Enabled *bool `json:"enabled,omitempty"`
	// GlobalMaxRetries limits the counted retries of each job. Workflows cannot raise it,
	// and it applies to failure handlers too. 0 grants no retries.
	GlobalMaxRetries *int64 `json:"global_max_retries,omitempty" jsonschema:"minimum=0"`
	// DefaultPolicy is the name of the stored policy that replaces the built-in one.
	DefaultPolicy string `json:"default_policy,omitempty"`
	// DefaultBackoff applies to rules and policies that have none.
	DefaultBackoff *Backoff `json:"default_backoff,omitempty"`
	// NodeBreaker excludes nodes on which runners are lost or that cannot start processes,
	// for all workflows.
	NodeBreaker *NodeBreaker `json:"node_breaker,omitempty"`
}

// PoliciesEnabled reports whether retry policies apply.
func (s *RetrySettings) PoliciesEnabled() bool { return s.Enabled == nil || *s.Enabled }

// Validate returns all problems of the settings.
func (s *RetrySettings) Validate() []Problem {
	var found problems
	found.limit("global_max_retries", s.GlobalMaxRetries)
	if s.DefaultPolicy != "" && !policyName.MatchString(s.DefaultPolicy) {
		found.add("default_policy", "write the name of a stored policy", "invalid name %q of a policy", s.DefaultPolicy)
	}
	s.DefaultBackoff.validate(&found, "default_backoff")
	found.nodeBreaker("node_breaker", s.NodeBreaker)
	return found
}
