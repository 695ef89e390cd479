package siteconfigs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

// cachedFacts is the cache file of what a cluster reports. All programs of a user share
// it.
type cachedFacts struct {
	Version   int       `json:"version"`
	User      string    `json:"user"`
	AskedAt   time.Time `json:"asked_at"`   // for all of it
	CheckedAt time.Time `json:"checked_at"` // when sinfo last said the same
	Facts     Facts     `json:"facts"`
}

// memoryVersion changes with the format of the file.
const memoryVersion = 3

func (m *cachedFacts) site() *Site { return FromFacts(m.Facts) }

// Facts returns what the cluster reports, without current states: these may be hours old.
func (f *Finder) Facts(ctx context.Context) (Facts, error) {
	if m := f.load(); m != nil && f.age(m.AskedAt) < factsFor {
		return m.Facts, nil
	}
	return f.query(ctx)
}

// query collects all facts from the cluster and caches them.
func (f *Finder) query(ctx context.Context) (Facts, error) {
	facts, err := CollectFacts(ctx, f.Client, f.User)
	if err == nil {
		f.save(&cachedFacts{Version: memoryVersion, User: f.User, AskedAt: f.Now(), CheckedAt: f.Now(), Facts: facts})
	}
	return facts, err
}

// age returns how long ago a time was; a very long time if it is in the future, because
// the clock was set back.
func (f *Finder) age(then time.Time) time.Duration {
	if age := f.Now().Sub(then); age >= 0 {
		return age
	}
	return max(factsFor, f.ttl())
}

func (f *Finder) path() string {
	of := f.Host.Hostname
	if f.Cluster != "" {
		of = f.Cluster + "-" + of
	}
	return filepath.Join(f.CacheDir, "site-"+strings.ReplaceAll(of, "/", "_")+".json")
}

// load returns the cached facts, nil if the file is missing, unreadable or of another
// user.
func (f *Finder) load() *cachedFacts {
	if f.CacheDir == "" {
		return nil
	}
	text, err := trustedfile.ReadPlain(f.path())
	if err != nil {
		return nil
	}
	var m cachedFacts
	if err := json.Unmarshal(text, &m); err != nil || m.Version != memoryVersion || m.User != f.User {
		return nil
	}
	return &m
}

// save writes the cache. Errors are ignored: the cluster is asked again next time.
func (f *Finder) save(m *cachedFacts) {
	if f.CacheDir != "" {
		_ = f.write(m)
	}
}

func (f *Finder) write(m *cachedFacts) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("cache the facts of the cluster %s: %w", m.Facts.Config.Cluster, err)
	}
	if err := os.MkdirAll(f.CacheDir, 0o700); err != nil {
		return err
	}
	return trustedfile.Write(f.path(), text, 0o600)
}
