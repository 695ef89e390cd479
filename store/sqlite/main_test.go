package sqlite

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the program that holds a database for other tests.
func TestMain(m *testing.M) {
	if path := os.Getenv(holdPath); path != "" {
		os.Exit(hold(path))
	}
	goleak.VerifyTestMain(m)
}
