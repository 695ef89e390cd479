package allocation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

// secretBytes is the number of random bytes in a secret.
const secretBytes = 32

const secretSuffix = ".secret"

// secrets keeps the credentials of the runners of allocations: one file per intent,
// which only its owner can read.
type secrets struct {
	dir    string
	random io.Reader
}

func (s *secrets) path(intentID string) string { return filepath.Join(s.dir, intentID+secretSuffix) }

// create writes the secret of an intent and returns its file and its hash.
func (s *secrets) create(intentID string) (path string, hash []byte, err error) {
	secret := make([]byte, secretBytes)
	if _, err := io.ReadFull(s.random, secret); err != nil {
		return "", nil, fmt.Errorf("make a secret for intent %s: %w", intentID, err)
	}
	text := hex.EncodeToString(secret)
	path = s.path(intentID)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("make a secret for intent %s: %w", intentID, err)
	}
	if err := trustedfile.Write(path, []byte(text+"\n"), 0o600); err != nil {
		return "", nil, fmt.Errorf("make a secret for intent %s: %w", intentID, err)
	}
	return path, HashSecret(text), nil
}

// remove removes the secret of an intent that is over.
func (s *secrets) remove(intentID string) error {
	if err := os.Remove(s.path(intentID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the secret of intent %s: %w", intentID, err)
	}
	return nil
}

// list returns the intents that have a secret.
func (s *secrets) list() ([]string, error) {
	files, err := filepath.Glob(s.path("*"))
	if err != nil {
		return nil, fmt.Errorf("list the secrets in %s: %w", s.dir, err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), secretSuffix)
	}
	return files, nil
}

// HashSecret returns the hash of a secret, which the database stores.
func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
