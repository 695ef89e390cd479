package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// SetQueuePolicies attaches stored policies to a queue, instead of those that
// are attached to it now; none detaches all.
func (s *Store) SetQueuePolicies(_ context.Context, q workflow.QueuePolicies, author string) error {
	_, err := s.changeQueue(q, author, func([]string) ([]string, error) {
		for i, name := range q.RetryPolicies {
			if slices.Contains(q.RetryPolicies[:i], name) {
				return nil, workflow.Errorf(workflow.CodeInvalid, "the retry policy %q is there twice", name)
			}
		}
		return q.RetryPolicies, nil
	})
	return err
}

// AttachPolicies adds stored policies to those of a queue, behind them, and
// returns all. Those that are attached already keep their place.
func (s *Store) AttachPolicies(_ context.Context, q workflow.QueuePolicies, author string) (workflow.QueuePolicies, error) {
	return s.changeQueue(q, author, func(before []string) ([]string, error) {
		return appendNew(slices.Clone(before), q.RetryPolicies), nil
	})
}

// DetachPolicies takes policies from a queue and returns those that are left. If
// one is not attached, none is taken, and the error has CodeNotFound.
func (s *Store) DetachPolicies(_ context.Context, q workflow.QueuePolicies, author string) (workflow.QueuePolicies, error) {
	return s.changeQueue(q, author, func(before []string) ([]string, error) {
		for _, name := range q.RetryPolicies {
			if !slices.Contains(before, name) {
				return nil, workflow.Errorf(workflow.CodeNotFound, "the retry policy %q is not attached to %s", name, q.Queue)
			}
		}
		return slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(q.RetryPolicies, name) }), nil
	})
}

// changeQueue replaces the policies of a queue by what a function makes of them,
// all in one transaction.
func (s *Store) changeQueue(q workflow.QueuePolicies, author string, change func(before []string) ([]string, error)) (workflow.QueuePolicies, error) {
	after := workflow.QueuePolicies{Queue: q.Queue}
	if err := workflow.ProblemsError("queue", q.Validate()); err != nil {
		return after, err
	}
	err := s.writer.do("attach retry policies", func(tx *Tx) error {
		before, err := policySource{tx.row}.queue(q.Queue)
		if err != nil {
			return err
		}
		if after.RetryPolicies, err = change(before); err != nil {
			return err
		}
		return tx.setQueue(after, before, author)
	})
	return after, err
}

// setQueue writes the policies of a queue, and who changed which.
func (tx *Tx) setQueue(q workflow.QueuePolicies, before []string, author string) error {
	if _, err := tx.exec(`DELETE FROM queue_policy WHERE kind = ? AND queue = ?`, string(q.Kind), q.Name); err != nil {
		return fmt.Errorf("detach retry policies from %s: %w", q.Queue, err)
	}
	for i, name := range q.RetryPolicies {
		if err := tx.attach(q.Queue, i, name, author, slices.Contains(before, name)); err != nil {
			return err
		}
	}
	for _, name := range before {
		if slices.Contains(q.RetryPolicies, name) {
			continue
		}
		err := tx.policyChanged(workflow.PolicyChange{Policy: name, Action: workflow.PolicyDetached, Author: author, Detail: q.Queue.String()})
		if err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) attach(q workflow.Queue, position int, name, author string, wasAttached bool) error {
	p, err := tx.retryPolicy(name)
	if err != nil {
		return err
	}
	if _, err := tx.exec(`INSERT INTO queue_policy (kind, queue, position, name) VALUES (?, ?, ?, ?)`, string(q.Kind), q.Name, position, name); err != nil {
		return fmt.Errorf("attach retry policy %s to %s: %w", name, q, err)
	}
	if wasAttached {
		return nil
	}
	return tx.policyChanged(workflow.PolicyChange{
		Policy: name, Action: workflow.PolicyAttached, Author: author, Detail: q.String(), OldHash: p.Hash, NewHash: p.Hash, Version: p.Version,
	})
}

// queue are the names of the policies of a queue, in their order.
func (s policySource) queue(q workflow.Queue) (names []string, err error) {
	var text string
	err = s.row(`SELECT json_group_array(name) FROM (SELECT name FROM queue_policy WHERE kind = ? AND queue = ? ORDER BY position)`,
		[]any{string(q.Kind), q.Name}, &text)
	if err == nil {
		err = json.Unmarshal([]byte(text), &names)
	}
	if err != nil {
		return nil, fmt.Errorf("read the retry policies of %s: %w", q, err)
	}
	return names, nil
}

// QueuePolicies returns the queues that have policies.
func (s *Store) QueuePolicies(ctx context.Context) ([]workflow.QueuePolicies, error) {
	type attached struct {
		workflow.Queue
		policy string
	}
	rows, err := s.read.QueryContext(ctx, `SELECT kind, queue, name FROM queue_policy ORDER BY kind, queue, position`)
	if err != nil {
		return nil, fmt.Errorf("list the retry policies of queues: %w", err)
	}
	all, err := collect(rows, func(r rowScanner) (a attached, err error) { return a, r.Scan(&a.Kind, &a.Name, &a.policy) })
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

// queues are those of the allocation that a runner is in, in the order in which
// their policies are tried; none if it is in none.
func (s policySource) queues(runner sql.NullInt64) ([]workflow.Queue, error) {
	if !runner.Valid {
		return nil, nil
	}
	var account, partition, scheduler string
	err := s.row(`SELECT COALESCE(json_extract(a.request, '$.account'), s.account, ''), COALESCE(json_extract(a.request, '$.partition'), s.partition, ''),
			COALESCE(s.name, '')
		FROM compute_node n LEFT JOIN allocation a ON a.id = n.allocation_id
		LEFT JOIN slurm_scheduler s ON s.id = COALESCE(a.scheduler_config_id, n.scheduler_config_id) AND s.workflow_id = n.workflow_id
		WHERE n.id = ? AND (n.allocation_id IS NOT NULL OR n.compute_node_type = 'slurm')`, []any{runner.Int64}, &account, &partition, &scheduler)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the queues of runner %d: %w", runner.Int64, err)
	}
	all := []workflow.Queue{{Kind: workflow.QueueAccount, Name: account}, {Kind: workflow.QueuePartition, Name: partition}, {Kind: workflow.QueueScheduler, Name: scheduler}}
	return slices.DeleteFunc(all, func(q workflow.Queue) bool { return q.Name == "" }), nil
}

// site are the policies of the queues that a runner is in.
func (s policySource) site(runner sql.NullInt64) ([]workflow.RetryPolicy, error) {
	queues, err := s.queues(runner)
	if err != nil {
		return nil, err
	}
	var all []workflow.RetryPolicy
	for _, q := range queues {
		names, err := s.queue(q)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if slices.ContainsFunc(all, func(p workflow.RetryPolicy) bool { return p.Name == name }) {
				continue
			}
			p, err := s.stored(name)
			if err != nil {
				return nil, err
			}
			all = append(all, *p)
		}
	}
	return all, nil
}
