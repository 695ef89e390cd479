package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const retryPolicyColumns = `policy, hash, version, created_ms, updated_ms`

func scanRetryPolicy(r sqlite.Scanner) (p workflow.StoredPolicy, err error) {
	var text string
	if err := r.Scan(&text, &p.Hash, &p.Version, &p.CreatedMS, &p.UpdatedMS); err != nil {
		return p, err
	}
	err = json.Unmarshal([]byte(text), &p.RetryPolicy)
	return p, sqlite.Wrap(err, "read a retry policy")
}

// Create stores a new retry policy; CodeConflict if the name is in use.
func (s Policies) Create(ctx context.Context, p workflow.RetryPolicy, author string) (stored workflow.StoredPolicy, err error) {
	if err := checkRetryPolicy(&p); err != nil {
		return stored, err
	}
	err = s.shared.By(ctx).Do("create retry policy", func(tx *core.Tx) error {
		text, err := json.Marshal(&p)
		if err != nil {
			return fmt.Errorf("write retry policy %s: %w", p.Name, err)
		}
		_, err = tx.Insert(`INSERT INTO retry_policy (name, policy, hash, version, created_ms, updated_ms) VALUES (?1, ?2, ?3, 1, ?4, ?4)`,
			p.Name, string(text), p.Hash(), tx.NowMS)
		switch {
		case sqlite.IsUnique(err):
			return workflow.Errorf(workflow.CodeConflict, "retry policy %q already exists", p.Name).WithHint("update it")
		case err != nil:
			return fmt.Errorf("insert retry policy %s: %w", p.Name, err)
		}
		stored = workflow.StoredPolicy{RetryPolicy: p, Hash: p.Hash(), Version: 1, CreatedMS: tx.NowMS, UpdatedMS: tx.NowMS}
		return policyChanged(tx, workflow.PolicyChange{Policy: p.Name, Action: workflow.PolicyCreated, Author: author, NewHash: stored.Hash, Version: 1, Text: text})
	})
	return stored, err
}

func checkRetryPolicy(p *workflow.RetryPolicy) error {
	return workflow.ProblemsError("retry policy "+p.Name, p.Validate())
}

// Update replaces a stored policy, from the next decision on. What was counted for its
// rules is kept by their ids.
func (s Policies) Update(ctx context.Context, p workflow.RetryPolicy, author string) (stored workflow.StoredPolicy, err error) {
	if err := checkRetryPolicy(&p); err != nil {
		return stored, err
	}
	err = s.shared.By(ctx).Do("update retry policy", func(tx *core.Tx) (err error) {
		if stored, err = loadRetryPolicy(tx, p.Name); err != nil || stored.Hash == p.Hash() {
			return err
		}
		text, err := json.Marshal(&p)
		if err != nil {
			return fmt.Errorf("write retry policy %s: %w", p.Name, err)
		}
		change := workflow.PolicyChange{
			Policy: p.Name, Action: workflow.PolicyUpdated, Author: author, OldHash: stored.Hash, NewHash: p.Hash(), Version: stored.Version + 1, Text: text,
		}
		stored.RetryPolicy, stored.Hash, stored.Version, stored.UpdatedMS = p, change.NewHash, change.Version, tx.NowMS
		err = tx.ExecOne(`UPDATE retry_policy SET policy = ?, hash = ?, version = ?, updated_ms = ? WHERE name = ?`,
			string(text), stored.Hash, stored.Version, stored.UpdatedMS, p.Name)
		if err != nil {
			return fmt.Errorf("update retry policy %s: %w", p.Name, err)
		}
		return policyChanged(tx, change)
	})
	return stored, err
}

// Delete deletes and returns a stored policy; CodeConflict if it is in use.
func (s Policies) Delete(ctx context.Context, name, author string) (stored workflow.StoredPolicy, err error) {
	err = s.shared.By(ctx).Do("delete retry policy", func(tx *core.Tx) (err error) {
		if stored, err = loadRetryPolicy(tx, name); err != nil {
			return err
		}
		if err := requireUnused(tx, name); err != nil {
			return err
		}
		if err := tx.ExecOne(`DELETE FROM retry_policy WHERE name = ?`, name); err != nil {
			return fmt.Errorf("delete retry policy %s: %w", name, err)
		}
		return policyChanged(tx, workflow.PolicyChange{
			Policy: name, Action: workflow.PolicyDeleted, Author: author, OldHash: stored.Hash, Version: stored.Version,
		})
	})
	return stored, err
}

// usingWorkflows selects the workflows that have not ended and in which a policy is used.
const usingWorkflows = `SELECT w.id FROM workflow w WHERE w.has_ended = 0 AND (
		EXISTS (SELECT 1 FROM json_each(w.policy, '$.retry_policies') e WHERE e.type = 'text' AND e.value = ?1)
		OR EXISTS (SELECT 1 FROM job_policy p, json_each(p.policy, '$.retry_policies') e
			WHERE p.workflow_id = w.id AND e.type = 'text' AND e.value = ?1))
	ORDER BY w.id LIMIT 1`

// requireUnused returns CodeConflict if decisions may need a policy.
func requireUnused(tx *core.Tx, name string) error {
	refuse := func(by, hint string) error {
		return workflow.Errorf(workflow.CodeConflict, "retry policy %q is in use by %s", name, by).WithHint("%s", hint)
	}
	settings, err := view.PolicySource{Row: tx.Row}.Settings()
	if err != nil {
		return err
	}
	if settings.DefaultPolicy == name {
		return refuse("the server as its default policy", "choose another default first")
	}
	var queue workflow.Queue
	err = tx.Row(`SELECT kind, queue FROM queue_policy WHERE name = ? ORDER BY kind, queue LIMIT 1`, []any{name}, &queue.Kind, &queue.Name)
	if err == nil {
		return refuse("the "+queue.String(), "detach it first")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("find queues with retry policy %s: %w", name, err)
	}
	var id int64
	err = tx.Row(usingWorkflows, []any{name}, &id)
	if err == nil {
		return refuse(fmt.Sprintf("workflow %d, which has not ended", id), "wait for its end, or cancel or delete it")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("find workflows with retry policy %s: %w", name, err)
	}
	return nil
}

// loadRetryPolicy reads a stored policy.
func loadRetryPolicy(tx *core.Tx, name string) (p workflow.StoredPolicy, err error) {
	stmt, err := tx.Stmt(`SELECT ` + retryPolicyColumns + ` FROM retry_policy WHERE name = ?`)
	if err != nil {
		return p, err
	}
	p, err = scanRetryPolicy(stmt.QueryRowContext(context.Background(), name))
	return p, view.OrNoRetryPolicy(err, name)
}

// Get returns a stored policy; CodeNotFound if there is none with this name.
func (s Policies) Get(ctx context.Context, name string) (workflow.StoredPolicy, error) {
	p, err := scanRetryPolicy(s.DB.Read.QueryRowContext(ctx, `SELECT `+retryPolicyColumns+` FROM retry_policy WHERE name = ?`, name))
	return p, view.OrNoRetryPolicy(err, name)
}

// List returns a page of the stored policies, by name.
func (s Policies) List(ctx context.Context, page sqlite.Page) ([]workflow.StoredPolicy, int64, error) {
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{Columns: retryPolicyColumns, From: "retry_policy", ID: "name", Page: page}, scanRetryPolicy)
}

// RequirePolicies rejects names of policies that do not exist.
func RequirePolicies(tx *core.Tx, of string, refs []workflow.PolicyRef) error {
	for _, r := range refs {
		if r.Policy != nil {
			continue
		}
		var one int
		err := tx.Row(`SELECT 1 FROM retry_policy WHERE name = ?`, []any{r.Name}, &one)
		if errors.Is(err, sql.ErrNoRows) {
			return workflow.Errorf(workflow.CodeInvalid, "%s: retry policy %q does not exist", of, r.Name).
				WithHint("create it first, or write the policy instead of its name")
		}
		if err != nil {
			return fmt.Errorf("find retry policy %s: %w", r.Name, err)
		}
	}
	return nil
}

// policiesChanged drops the cached failure patterns, so that they are sent to the runners
// again.
func policiesChanged(tx *core.Tx) error {
	tx.Shared.Patterns = nil
	ids, err := core.IDsOf(tx, `SELECT DISTINCT workflow_id FROM compute_node WHERE is_active = 1`)
	if err != nil {
		return fmt.Errorf("find the workflows with runners: %w", err)
	}
	for _, id := range ids {
		tx.Ready(id)
	}
	return nil
}

// policyChanged records a change of retry policies.
func policyChanged(tx *core.Tx, c workflow.PolicyChange) error {
	_, err := tx.Insert(`INSERT INTO retry_policy_change (name, action, at_ms, author, detail, old_hash, new_hash, version, policy, door)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, c.Policy, string(c.Action), tx.NowMS, c.Author, c.Detail, c.OldHash, c.NewHash, c.Version, view.Text(c.Text), string(tx.Door))
	if err != nil {
		return fmt.Errorf("record a change of retry policy %q: %w", c.Policy, err)
	}
	return policiesChanged(tx)
}

func scanPolicyChange(r sqlite.Scanner) (c workflow.PolicyChange, err error) {
	var text sql.NullString
	err = r.Scan(&c.ID, &c.Policy, &c.Action, &c.AtMS, &c.Author, &c.Detail, &c.OldHash, &c.NewHash, &c.Version, &text)
	if text.Valid {
		c.Text = json.RawMessage(text.String)
	}
	return c, err
}

// Changes returns a page of the changes of a retry policy, oldest first, also if it was
// deleted. The empty name stands for the server's settings.
func (s Policies) Changes(ctx context.Context, name string, page sqlite.Page) ([]workflow.PolicyChange, int64, error) {
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: `id, name, action, at_ms, author, detail, old_hash, new_hash, version, policy`, From: "retry_policy_change",
		Filter: sqlite.Where(`name = ?`, name), ID: "id", Page: page,
	}, scanPolicyChange)
}
