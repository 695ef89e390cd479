package simulation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/torc-slurm/torc-slurm/server"
)

// token is the token of the owner.
const token = "simulated"

// daemon is one process of the daemon.
type daemon struct {
	*server.Daemon
	number int
	path   string          // of its database
	life   context.Context // ends when it dies
	die    context.CancelFunc
	armed  atomic.Bool  // it may die
	died   atomic.Int64 // when, in ns; 0 while it lives
}

// present returns the living daemon; nil if there is none.
func (w *world) present() *daemon {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.daemon
}

// keepDaemon starts daemons, one after the other, until the run is over. Each but the
// last dies at some failpoint: its files are copied at that moment, and what it does
// afterwards has no effect.
func (w *world) keepDaemon(first chan<- struct{}) {
	for number := 1; w.life.Err() == nil; number++ {
		c := w.seed.of("daemon", number)
		d, err := w.startDaemon(number, c)
		if err != nil {
			w.violated("daemon %d does not start: %v", number, err)
			w.end()
			return
		}
		if number == 1 {
			w.create(d)
			close(first)
		}
		w.note("daemon %d starts", number)
		d.armed.Store(true)
		w.setDaemon(d)
		select {
		case <-d.life.Done():
			w.note("daemon %d dies", number)
		case <-w.life.Done():
		}
		w.setDaemon(nil)
		d.Stop()
		if err := d.Wait(); err != nil {
			w.violated("daemon %d: %v", number, err)
		}
		w.path = d.path
		if w.life.Err() == nil {
			_ = sleep(w.life, c.spread(100*time.Millisecond, 3*time.Minute))
		}
	}
}

func (w *world) setDaemon(d *daemon) {
	w.mu.Lock()
	w.daemon = d
	w.mu.Unlock()
}

func (w *world) database(number int) string {
	return filepath.Join(w.dir, fmt.Sprintf("daemon%d", number), "torc.db")
}

// startDaemon starts a daemon on the files of the previous one.
func (w *world) startDaemon(number int, c chance) (*daemon, error) {
	d := &daemon{number: number, path: w.database(number)}
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return nil, err
	}
	d.life, d.die = context.WithCancel(context.Background())
	var hits atomic.Int64
	dies := int64(-1)
	if w.faulty() && c.is(w.crashes) {
		dies = int64(c.spread(1, 2000))
	}
	options := server.DaemonOptions{
		Database: d.path, EndpointPath: filepath.Join(w.dir, "endpoint.json"), InProcess: true, Now: w.now, Token: token, User: "sim", Log: w.log,
		Failpoint: func(string) {
			if d.armed.Load() && hits.Add(1) == dies {
				d.died.Store(time.Now().UnixNano()) // before the image: what has an effect is in it
				w.takeImage(d.path, w.database(number+1))
				d.die()
			}
		},
	}
	options.Spooled = d.spooled
	w.adjust(&options, d)
	var err error
	d.Daemon, err = server.Start(context.Background(), options)
	return d, err
}

// diedBy reports whether the daemon was dead at a time.
func (d *daemon) diedBy(at time.Time) bool {
	died := d.died.Load()
	return died != 0 && died <= at.UnixNano()
}

// takeImage copies the files of a database as they are.
func (w *world) takeImage(from, to string) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		w.violated("image: %v", err)
	}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(from + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(to+suffix, data, 0o600)
		}
		if err != nil {
			w.violated("image: %v", err)
		}
	}
}
