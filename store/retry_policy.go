package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const retryPolicyColumns = `policy, hash, version, created_ms, updated_ms`

func scanRetryPolicy(r rowScanner) (p workflow.StoredPolicy, err error) {
	var text string
	if err := r.Scan(&text, &p.Hash, &p.Version, &p.CreatedMS, &p.UpdatedMS); err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(text), &p.RetryPolicy); err != nil {
		return p, fmt.Errorf("read a retry policy: %w", err)
	}
	return p, nil
}

func noRetryPolicy(name string) *workflow.Error {
	return workflow.Errorf(workflow.CodeNotFound, "there is no retry policy %q", name)
}

// CreateRetryPolicy stores a retry policy under its name, which must be new.
func (s *Store) CreateRetryPolicy(_ context.Context, p workflow.RetryPolicy, author string) (stored workflow.StoredPolicy, err error) {
	if err := checkRetryPolicy(&p); err != nil {
		return stored, err
	}
	err = s.writer.do("create retry policy", func(tx *Tx) error {
		text, err := json.Marshal(&p)
		if err != nil {
			return fmt.Errorf("write retry policy %s: %w", p.Name, err)
		}
		_, err = tx.insert(`INSERT INTO retry_policy (name, policy, hash, version, created_ms, updated_ms) VALUES (?1, ?2, ?3, 1, ?4, ?4)`,
			p.Name, string(text), p.Hash(), tx.nowMS)
		switch {
		case isUnique(err):
			return workflow.Errorf(workflow.CodeConflict, "there is a retry policy %q already", p.Name).WithHint("update it")
		case err != nil:
			return fmt.Errorf("insert retry policy %s: %w", p.Name, err)
		}
		stored = workflow.StoredPolicy{RetryPolicy: p, Hash: p.Hash(), Version: 1, CreatedMS: tx.nowMS, UpdatedMS: tx.nowMS}
		return tx.policyChanged(workflow.PolicyChange{Policy: p.Name, Action: workflow.PolicyCreated, Author: author, NewHash: stored.Hash, Version: 1, Text: text})
	})
	return stored, err
}

func checkRetryPolicy(p *workflow.RetryPolicy) error {
	return workflow.ProblemsError("retry policy "+p.Name, p.Validate())
}

// UpdateRetryPolicy replaces what a stored policy says. The next decision is
// made by it; what it has counted under the ids of its rules goes on.
func (s *Store) UpdateRetryPolicy(_ context.Context, p workflow.RetryPolicy, author string) (stored workflow.StoredPolicy, err error) {
	if err := checkRetryPolicy(&p); err != nil {
		return stored, err
	}
	err = s.writer.do("update retry policy", func(tx *Tx) (err error) {
		if stored, err = tx.retryPolicy(p.Name); err != nil || stored.Hash == p.Hash() {
			return err
		}
		text, err := json.Marshal(&p)
		if err != nil {
			return fmt.Errorf("write retry policy %s: %w", p.Name, err)
		}
		change := workflow.PolicyChange{
			Policy: p.Name, Action: workflow.PolicyUpdated, Author: author, OldHash: stored.Hash, NewHash: p.Hash(), Version: stored.Version + 1, Text: text,
		}
		stored.RetryPolicy, stored.Hash, stored.Version, stored.UpdatedMS = p, change.NewHash, change.Version, tx.nowMS
		err = tx.execOne(`UPDATE retry_policy SET policy = ?, hash = ?, version = ?, updated_ms = ? WHERE name = ?`,
			string(text), stored.Hash, stored.Version, stored.UpdatedMS, p.Name)
		if err != nil {
			return fmt.Errorf("update retry policy %s: %w", p.Name, err)
		}
		return tx.policyChanged(change)
	})
	return stored, err
}

// DeleteRetryPolicy removes a stored policy that nobody refers to, and returns
// it.
func (s *Store) DeleteRetryPolicy(_ context.Context, name, author string) (stored workflow.StoredPolicy, err error) {
	err = s.writer.do("delete retry policy", func(tx *Tx) (err error) {
		if stored, err = tx.retryPolicy(name); err != nil {
			return err
		}
		if err := tx.requireUnused(name); err != nil {
			return err
		}
		if err := tx.execOne(`DELETE FROM retry_policy WHERE name = ?`, name); err != nil {
			return fmt.Errorf("delete retry policy %s: %w", name, err)
		}
		return tx.policyChanged(workflow.PolicyChange{
			Policy: name, Action: workflow.PolicyDeleted, Author: author, OldHash: stored.Hash, Version: stored.Version,
		})
	})
	return stored, err
}

// usingWorkflows selects the workflows that have not ended and that, or whose
// jobs, refer to a policy.
const usingWorkflows = `SELECT w.id FROM workflow w WHERE w.has_ended = 0 AND (
		EXISTS (SELECT 1 FROM json_each(w.policy, '$.retry_policies') e WHERE e.type = 'text' AND e.value = ?1)
		OR EXISTS (SELECT 1 FROM job_policy p, json_each(p.policy, '$.retry_policies') e
			WHERE p.workflow_id = w.id AND e.type = 'text' AND e.value = ?1))
	ORDER BY w.id LIMIT 1`

// requireUnused refuses to delete a policy that decisions may need.
func (tx *Tx) requireUnused(name string) error {
	refuse := func(by, hint string) error {
		return workflow.Errorf(workflow.CodeConflict, "the retry policy %q is in use by %s", name, by).WithHint("%s", hint)
	}
	settings, err := policySource{tx.row}.settings()
	if err != nil {
		return err
	}
	if settings.DefaultPolicy == name {
		return refuse("the server as its default policy", "choose another default before")
	}
	var queue workflow.Queue
	err = tx.row(`SELECT kind, queue FROM queue_policy WHERE name = ? ORDER BY kind, queue LIMIT 1`, []any{name}, &queue.Kind, &queue.Name)
	if err == nil {
		return refuse("the "+queue.String(), "detach it before")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("look for queues with retry policy %s: %w", name, err)
	}
	var id int64
	err = tx.row(usingWorkflows, []any{name}, &id)
	if err == nil {
		return refuse(fmt.Sprintf("workflow %d, which has not ended", id), "wait for its end, or cancel or delete it")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("look for workflows with retry policy %s: %w", name, err)
	}
	return nil
}

// retryPolicy reads a stored policy.
func (tx *Tx) retryPolicy(name string) (p workflow.StoredPolicy, err error) {
	stmt, err := tx.stmt(`SELECT ` + retryPolicyColumns + ` FROM retry_policy WHERE name = ?`)
	if err != nil {
		return p, err
	}
	p, err = scanRetryPolicy(stmt.QueryRowContext(context.Background(), name))
	return p, orNoRetryPolicy(err, name)
}

func orNoRetryPolicy(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return noRetryPolicy(name)
	}
	return fmt.Errorf("read retry policy %s: %w", name, err)
}

// RetryPolicy returns a stored policy.
func (s *Store) RetryPolicy(ctx context.Context, name string) (workflow.StoredPolicy, error) {
	p, err := scanRetryPolicy(s.read.QueryRowContext(ctx, `SELECT `+retryPolicyColumns+` FROM retry_policy WHERE name = ?`, name))
	return p, orNoRetryPolicy(err, name)
}

// RetryPolicies returns a page of the stored policies, by name.
func (s *Store) RetryPolicies(ctx context.Context, page Page) ([]workflow.StoredPolicy, int64, error) {
	return readList(ctx, s.read, list{columns: retryPolicyColumns, from: "retry_policy", id: "name", page: page}, scanRetryPolicy)
}

// requirePolicies refuses names of policies that are not stored.
func (tx *Tx) requirePolicies(of string, refs []workflow.PolicyRef) error {
	for _, r := range refs {
		if r.Policy != nil {
			continue
		}
		var one int
		err := tx.row(`SELECT 1 FROM retry_policy WHERE name = ?`, []any{r.Name}, &one)
		if errors.Is(err, sql.ErrNoRows) {
			return workflow.Errorf(workflow.CodeInvalid, "%s: there is no retry policy %q", of, r.Name).
				WithHint("store it before, or write the policy instead of its name")
		}
		if err != nil {
			return fmt.Errorf("look for retry policy %s: %w", r.Name, err)
		}
	}
	return nil
}
