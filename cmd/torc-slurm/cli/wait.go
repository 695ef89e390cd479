package cli

import (
	"context"
	"time"
)

// Pause waits for a duration, or until the context is done, whose error it returns.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
