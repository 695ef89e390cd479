package view

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Queue returns the names of the policies of a queue, in order.
func (s PolicySource) Queue(q workflow.Queue) (names []string, err error) {
	var text string
	err = s.Row(`SELECT json_group_array(name) FROM (SELECT name FROM queue_policy WHERE kind = ? AND queue = ? ORDER BY position)`,
		[]any{string(q.Kind), q.Name}, &text)
	if err == nil {
		err = json.Unmarshal([]byte(text), &names)
	}
	return names, sqlite.Wrap(err, "read the retry policies of %s", q)
}

// queues returns the queues of a runner's allocation, in the order in which their policies
// are tried; none if it is in no allocation.
func (s PolicySource) queues(runner sql.NullInt64) ([]workflow.Queue, error) {
	if !runner.Valid {
		return nil, nil
	}
	var account, partition, scheduler string
	err := s.Row(`SELECT COALESCE(json_extract(a.request, '$.account'), s.account, ''), COALESCE(json_extract(a.request, '$.partition'), s.partition, ''),
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

// site returns the policies of a runner's queues.
func (s PolicySource) site(runner sql.NullInt64) ([]workflow.RetryPolicy, error) {
	queues, err := s.queues(runner)
	if err != nil {
		return nil, err
	}
	var all []workflow.RetryPolicy
	for _, q := range queues {
		names, err := s.Queue(q)
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
