package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// StoredPolicy is a retry policy that workflows, jobs and queues refer to by
// its name.
type StoredPolicy struct {
	RetryPolicy
	Hash      string // of the policy, see RetryPolicy.Hash
	Version   int64  // 1 at first, higher with each change
	CreatedMS int64
	UpdatedMS int64
}

// Hash identifies what the policy says.
func (p *RetryPolicy) Hash() string {
	text, err := json.Marshal(p)
	if err != nil { // plain structs of strings and numbers
		panic(fmt.Sprintf("hash retry policy %s: %v", p.Name, err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// PolicyChange is an entry of the record of who changed retry policies.
type PolicyChange struct {
	ID      int64
	Policy  string // its name; empty if the settings of the server changed
	Action  PolicyAction
	AtMS    int64
	Author  string
	Detail  string // what is not about the policy itself: the queue, the settings
	OldHash string // empty if there was none
	NewHash string // empty if there is none any more
	Version int64
	Text    json.RawMessage // the policy from then on; nil if it did not change or is gone
}

// PolicyAction says what somebody did about retry policies.
type PolicyAction string

// What can be done about retry policies.
const (
	PolicyCreated  PolicyAction = "created"
	PolicyUpdated  PolicyAction = "updated"
	PolicyDeleted  PolicyAction = "deleted"
	PolicyAttached PolicyAction = "attached" // to a queue
	PolicyDetached PolicyAction = "detached"
	PolicySettings PolicyAction = "settings" // of the server changed
)

// Queue is a part of Slurm that the site attaches retry policies to.
type Queue struct {
	Kind QueueKind `json:"kind"`
	Name string    `json:"name"`
}

// QueueKind says what a queue is.
type QueueKind string

// The kinds of queues, in the order in which their policies are tried.
const (
	QueueAccount   QueueKind = "account"   // Slurm's
	QueuePartition QueueKind = "partition" // Slurm's
	QueueScheduler QueueKind = "scheduler" // a slurm_scheduler of workflows, by its name
)

// String is for people: "partition gpu".
func (q Queue) String() string { return string(q.Kind) + " " + q.Name }

// Validate returns everything that is wrong with it.
func (q Queue) Validate() []Problem {
	var found problems
	found.oneOf("kind", string(q.Kind), string(QueueAccount), string(QueuePartition), string(QueueScheduler))
	if q.Name == "" {
		found.add("name", "write the name of the account, partition or scheduler", "a queue has a name")
	}
	return found
}

// QueuePolicies are the policies that the site attached to a queue.
type QueuePolicies struct {
	Queue
	RetryPolicies []string `json:"retry_policies"` // names, in the order in which they are tried
}

// RetrySettings are those of the server, for all workflows.
type RetrySettings struct {
	// Enabled is true by default. Without it only failure handlers and the
	// built-in policy are asked.
	Enabled *bool `json:"enabled,omitempty"`
	// GlobalMaxRetries bounds the counted retries of each job, whatever a workflow
	// says, and binds failure handlers too. 0 grants no retry at all.
	GlobalMaxRetries *int64 `json:"global_max_retries,omitempty" jsonschema:"minimum=0"`
	// DefaultPolicy is the name of the stored policy that replaces the built-in one.
	DefaultPolicy string `json:"default_policy,omitempty"`
	// DefaultBackoff is for rules and policies that have none.
	DefaultBackoff *Backoff `json:"default_backoff,omitempty"`
	// NodeBreaker keeps all workflows from nodes on which runners are lost, or that
	// cannot start processes.
	NodeBreaker *NodeBreaker `json:"node_breaker,omitempty"`
}

// PoliciesEnabled reports whether retry policies are asked.
func (s *RetrySettings) PoliciesEnabled() bool { return s.Enabled == nil || *s.Enabled }

// Validate returns everything that is wrong with them.
func (s *RetrySettings) Validate() []Problem {
	var found problems
	found.limit("global_max_retries", s.GlobalMaxRetries)
	if s.DefaultPolicy != "" && !policyName.MatchString(s.DefaultPolicy) {
		found.add("default_policy", "write the name of a stored policy", "%q is no name for a policy", s.DefaultPolicy)
	}
	s.DefaultBackoff.validate(&found, "default_backoff")
	found.nodeBreaker("node_breaker", s.NodeBreaker)
	return found
}
