package store

import (
	"context"
	"path/filepath"
	"testing"
)

func TestIdentityStays(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "torc.db")
	for _, fresh := range []string{"first", "second", "third"} {
		s, err := Open(ctx, Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if name, err := s.Identity(ctx, fresh); name != "first" || err != nil {
				t.Errorf("identity %q, %v", name, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
