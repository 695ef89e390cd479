package siteconfigs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// DefaultTTL is how long what a cluster said of itself is taken for true.
const DefaultTTL = time.Hour

// Finder tells which site this machine belongs to, and what it offers. Without
// Slurm it knows only what files say.
type Finder struct {
	Known []*Site // from Known, and others that the user describes
	Dir   string  // of the user's files
	Host  Host
	User  string // whose limits count

	Client *slurm.Client // nil: nobody to ask
	// Cluster is the name of the client's cluster, if that is known without asking.
	Cluster string
	// CacheDir keeps what the cluster said, a file for each cluster and host, as a
	// home may be that of several clusters, each with a host of the same name;
	// nothing is kept if it is empty.
	CacheDir string
	TTL      time.Duration // DefaultTTL if 0
	Now      func() time.Time
}

// cached is a file of the cache.
type cached struct {
	Version    int       `json:"version"`
	User       string    `json:"user"`
	DetectedAt time.Time `json:"detected_at"`
	Site       *Site     `json:"site"`
}

// cacheVersion changes with the meaning of the file.
const cacheVersion = 2

// Find returns the site. It is the described one that the machine is
// recognised as, with Slurm's news, or else what Slurm says, with the user's
// file for a cluster of that name on top. That there is none is an error with
// CodeNotFound.
func (f *Finder) Find(ctx context.Context) (*Site, error) {
	if site := Recognise(f.Known, f.Host); site != nil {
		if live, err := f.live(ctx); err == nil {
			site = Refresh(site, live)
		} else if ctx.Err() != nil {
			return nil, err
		}
		return site, nil
	}
	live, err := f.live(ctx)
	if err != nil {
		return nil, err
	}
	host := f.Host
	host.Cluster = live.Name
	if site := Recognise(f.Known, host); site != nil {
		return Refresh(site, live), nil
	}
	return Override(live, f.Dir)
}

// Described returns the site as far as files and the cache know it, nil if they do
// not. Nobody is asked.
func (f *Finder) Described() *Site {
	host := f.Host
	host.Cluster = f.Cluster
	live, _ := f.load()
	if live != nil {
		host.Cluster = live.Name
	}
	if site := Recognise(f.Known, host); site != nil || live == nil {
		return site
	}
	if site, err := Override(live, f.Dir); err == nil {
		return site
	}
	return live
}

// live returns what the cluster says of itself: from the cache while it is
// fresh, or if the cluster does not answer.
func (f *Finder) live(ctx context.Context) (*Site, error) {
	if f.Client == nil {
		return nil, workflow.Errorf(workflow.CodeNotFound, "no HPC profile specified and no system detected").
			WithHint("name one of `torc-slurm hpc list`, or go to a host with Slurm")
	}
	old, age := f.load()
	if old != nil && age < f.ttl() {
		return old, nil
	}
	site, err := Detect(ctx, f.Client, f.User)
	if err != nil {
		if old != nil && ctx.Err() == nil {
			return old, nil
		}
		return nil, &workflow.Error{Code: workflow.CodeNotFound, Message: "no HPC profile specified and no system detected",
			Hint: "name one of `torc-slurm hpc list`, or go to a host with Slurm", Err: err}
	}
	f.save(site)
	return site, nil
}

func (f *Finder) ttl() time.Duration {
	if f.TTL > 0 {
		return f.TTL
	}
	return DefaultTTL
}

func (f *Finder) path() string {
	of := f.Host.Hostname
	if f.Cluster != "" {
		of = f.Cluster + "-" + of
	}
	return filepath.Join(f.CacheDir, "site-"+strings.ReplaceAll(of, "/", "_")+".json")
}

// load reads the cache. What is not there, not readable or somebody else's is
// not there.
func (f *Finder) load() (*Site, time.Duration) {
	if f.CacheDir == "" {
		return nil, 0
	}
	text, err := trustedfile.ReadPlain(f.path())
	if err != nil {
		return nil, 0
	}
	var c cached
	if err := json.Unmarshal(text, &c); err != nil || c.Version != cacheVersion || c.User != f.User || c.Site == nil {
		return nil, 0
	}
	age := f.Now().Sub(c.DetectedAt)
	if age < 0 { // the clock was set back
		age = f.ttl()
	}
	return c.Site, age
}

// save writes the cache. If it cannot, the cluster is asked again next time.
func (f *Finder) save(site *Site) {
	if f.CacheDir == "" {
		return
	}
	_ = f.write(cached{Version: cacheVersion, User: f.User, DetectedAt: f.Now(), Site: site})
}

func (f *Finder) write(c cached) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("cache site %s: %w", c.Site.Name, err)
	}
	if err := os.MkdirAll(f.CacheDir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(f.CacheDir, "site-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.path())
}
