package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// RetrySettings returns what holds for the retries of all workflows.
func (s *Store) RetrySettings(ctx context.Context) (workflow.RetrySettings, error) {
	return policySource{func(query string, args []any, dest ...any) error {
		return s.read.QueryRowContext(ctx, query, args...).Scan(dest...)
	}}.settings()
}

// settings are what the server says; the zero value if nobody has set anything.
func (s policySource) settings() (settings workflow.RetrySettings, err error) {
	err = s.json(&settings, `SELECT settings FROM retry_settings WHERE id = ?`, 1)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return settings, fmt.Errorf("read the settings for retries: %w", err)
	}
	return settings, nil
}

// SetRetrySettings replaces what holds for the retries of all workflows, from
// the next decision on.
func (s *Store) SetRetrySettings(_ context.Context, settings workflow.RetrySettings, author string) error {
	if err := workflow.ProblemsError("settings", settings.Validate()); err != nil {
		return err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("write the settings for retries: %w", err)
	}
	return s.writer.do("change settings for retries", func(tx *Tx) error {
		if settings.DefaultPolicy != "" {
			if _, err := tx.retryPolicy(settings.DefaultPolicy); err != nil {
				return err
			}
		}
		before, err := policySource{tx.row}.settings()
		if err != nil {
			return err
		}
		old, err := json.Marshal(before)
		if err != nil || string(old) == string(text) {
			return err
		}
		_, err = tx.exec(`INSERT INTO retry_settings (id, settings) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET settings = ?1`, string(text))
		if err != nil {
			return fmt.Errorf("change the settings for retries: %w", err)
		}
		return tx.policyChanged(workflow.PolicyChange{Action: workflow.PolicySettings, Author: author, Detail: string(old) + " -> " + string(text)})
	})
}
