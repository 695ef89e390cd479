package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestOwnCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tls.pem")
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	first, err := ownCertificate(path, "127.0.0.1", now)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if perm := info.Mode().Perm(); perm != 0o600 {
		t.Errorf("the key can be read by others: %v", perm)
	}
	again, err := ownCertificate(path, "127.0.0.1", now.Add(365*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if fingerprint(first) != fingerprint(again) {
		t.Error("a restarted daemon has another certificate: runners would reject it")
	}
	late, err := ownCertificate(path, "127.0.0.1", now.Add(certificateLife+time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if fingerprint(late) == fingerprint(first) {
		t.Error("an expired certificate is still used")
	}
}

func TestOwnCertificateBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tls.pem")
	if err := os.WriteFile(path, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ownCertificate(path, "127.0.0.1", time.Now()); workflow.CodeOf(err) != workflow.CodeCorrupt {
		t.Errorf("got %v, want code corrupt", err)
	}
}
