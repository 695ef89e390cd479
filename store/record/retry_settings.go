package record

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Settings returns the retry settings of the server.
func (s Policies) Settings(ctx context.Context) (workflow.RetrySettings, error) {
	return view.PolicySource{Row: func(query string, args []any, dest ...any) error {
		return s.DB.Read.QueryRowContext(ctx, query, args...).Scan(dest...)
	}}.Settings()
}

// SetSettings replaces the retry settings of the server, from the next decision on.
func (s Policies) SetSettings(ctx context.Context, settings workflow.RetrySettings, author string) error {
	if err := workflow.ProblemsError("settings", settings.Validate()); err != nil {
		return err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("write the retry settings: %w", err)
	}
	return s.shared.By(ctx).Do("change retry settings", func(tx *core.Tx) error {
		if settings.DefaultPolicy != "" {
			if _, err := loadRetryPolicy(tx, settings.DefaultPolicy); err != nil {
				return err
			}
		}
		before, err := view.PolicySource{Row: tx.Row}.Settings()
		if err != nil {
			return err
		}
		old, err := json.Marshal(before)
		if err != nil || string(old) == string(text) {
			return err
		}
		_, err = tx.Exec(`INSERT INTO retry_settings (id, settings) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET settings = ?1`, string(text))
		if err != nil {
			return fmt.Errorf("change the retry settings: %w", err)
		}
		return policyChanged(tx, workflow.PolicyChange{Action: workflow.PolicySettings, Author: author, Detail: string(old) + " -> " + string(text)})
	})
}
