package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// policyChanged records a change of retry policies.
func (tx *Tx) policyChanged(c workflow.PolicyChange) error {
	_, err := tx.insert(`INSERT INTO retry_policy_change (name, action, at_ms, author, detail, old_hash, new_hash, version, policy)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, c.Policy, string(c.Action), tx.nowMS, c.Author, c.Detail, c.OldHash, c.NewHash, c.Version, text(c.Text))
	if err != nil {
		return fmt.Errorf("record a change of retry policy %q: %w", c.Policy, err)
	}
	return tx.policiesChanged()
}

func scanPolicyChange(r rowScanner) (c workflow.PolicyChange, err error) {
	var text sql.NullString
	err = r.Scan(&c.ID, &c.Policy, &c.Action, &c.AtMS, &c.Author, &c.Detail, &c.OldHash, &c.NewHash, &c.Version, &text)
	if text.Valid {
		c.Text = json.RawMessage(text.String)
	}
	return c, err
}

// RetryPolicyChanges returns a page of what was done about a retry policy,
// oldest first; the empty name stands for the settings of the server. What was
// done about policies that are gone is there too.
func (s *Store) RetryPolicyChanges(ctx context.Context, name string, page Page) ([]workflow.PolicyChange, int64, error) {
	return readList(ctx, s.read, list{
		columns: `id, name, action, at_ms, author, detail, old_hash, new_hash, version, policy`, from: "retry_policy_change",
		filter: where(`name = ?`, name), id: "id", page: page,
	}, scanPolicyChange)
}
