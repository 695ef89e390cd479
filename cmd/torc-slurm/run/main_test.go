package run

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a test has left a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
