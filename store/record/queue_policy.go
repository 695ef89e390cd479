package record

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// SetQueue replaces the stored policies that are attached to a queue; an empty list
// detaches all.
func (s Policies) SetQueue(_ context.Context, q workflow.QueuePolicies, author string) error {
	_, err := s.changeQueue(q, author, func([]string) ([]string, error) {
		for i, name := range q.RetryPolicies {
			if slices.Contains(q.RetryPolicies[:i], name) {
				return nil, workflow.Errorf(workflow.CodeInvalid, "duplicate retry policy %q", name)
			}
		}
		return q.RetryPolicies, nil
	})
	return err
}

// Attach appends stored policies to those of a queue, and returns all. Those already
// attached keep their place.
func (s Policies) Attach(_ context.Context, q workflow.QueuePolicies, author string) (workflow.QueuePolicies, error) {
	return s.changeQueue(q, author, func(before []string) ([]string, error) {
		return core.AppendNew(slices.Clone(before), q.RetryPolicies), nil
	})
}

// Detach removes policies from a queue and returns the others. If one is not attached, none
// is removed, and the error has CodeNotFound.
func (s Policies) Detach(_ context.Context, q workflow.QueuePolicies, author string) (workflow.QueuePolicies, error) {
	return s.changeQueue(q, author, func(before []string) ([]string, error) {
		for _, name := range q.RetryPolicies {
			if !slices.Contains(before, name) {
				return nil, workflow.Errorf(workflow.CodeNotFound, "retry policy %q is not attached to %s", name, q.Queue)
			}
		}
		return slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(q.RetryPolicies, name) }), nil
	})
}

// changeQueue replaces the policies of a queue by what change returns for them, in one
// transaction.
func (s Policies) changeQueue(q workflow.QueuePolicies, author string, change func(before []string) ([]string, error)) (workflow.QueuePolicies, error) {
	after := workflow.QueuePolicies{Queue: q.Queue}
	if err := workflow.ProblemsError("queue", q.Validate()); err != nil {
		return after, err
	}
	err := s.shared.Do("attach retry policies", func(tx *core.Tx) error {
		before, err := view.PolicySource{Row: tx.Row}.Queue(q.Queue)
		if err != nil {
			return err
		}
		if after.RetryPolicies, err = change(before); err != nil {
			return err
		}
		return setPolicyQueue(tx, after, before, author)
	})
	return after, err
}

// setPolicyQueue stores the policies of a queue, and records who changed which.
func setPolicyQueue(tx *core.Tx, q workflow.QueuePolicies, before []string, author string) error {
	if _, err := tx.Exec(`DELETE FROM queue_policy WHERE kind = ? AND queue = ?`, string(q.Kind), q.Name); err != nil {
		return fmt.Errorf("detach retry policies from %s: %w", q.Queue, err)
	}
	for i, name := range q.RetryPolicies {
		if err := attachPolicy(tx, q.Queue, i, name, author, slices.Contains(before, name)); err != nil {
			return err
		}
	}
	for _, name := range before {
		if slices.Contains(q.RetryPolicies, name) {
			continue
		}
		err := policyChanged(tx, workflow.PolicyChange{Policy: name, Action: workflow.PolicyDetached, Author: author, Detail: q.Queue.String()})
		if err != nil {
			return err
		}
	}
	return nil
}

func attachPolicy(tx *core.Tx, q workflow.Queue, position int, name, author string, wasAttached bool) error {
	p, err := loadRetryPolicy(tx, name)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO queue_policy (kind, queue, position, name) VALUES (?, ?, ?, ?)`, string(q.Kind), q.Name, position, name); err != nil {
		return fmt.Errorf("attach retry policy %s to %s: %w", name, q, err)
	}
	if wasAttached {
		return nil
	}
	return policyChanged(tx, workflow.PolicyChange{
		Policy: name, Action: workflow.PolicyAttached, Author: author, Detail: q.String(), OldHash: p.Hash, NewHash: p.Hash, Version: p.Version,
	})
}

// Queues returns the queues that have policies.
func (s Policies) Queues(ctx context.Context) ([]workflow.QueuePolicies, error) {
	type attached struct {
		workflow.Queue
		policy string
	}
	all, err := sqlite.SelectContext(ctx, s.DB.Read, func(r sqlite.Scanner) (a attached, err error) { return a, r.Scan(&a.Kind, &a.Name, &a.policy) },
		`SELECT kind, queue, name FROM queue_policy ORDER BY kind, queue, position`)
	if err != nil {
		return nil, fmt.Errorf("list the retry policies of queues: %w", err)
	}
	var queues []workflow.QueuePolicies
	for _, a := range all {
		if n := len(queues); n == 0 || queues[n-1].Queue != a.Queue {
			queues = append(queues, workflow.QueuePolicies{Queue: a.Queue})
		}
		last := &queues[len(queues)-1]
		last.RetryPolicies = append(last.RetryPolicies, a.policy)
	}
	return queues, nil
}
