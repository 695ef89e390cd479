package daemonlink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// takeoverCheck is how often a program that uses the daemon within another program checks
// that it still runs.
const takeoverCheck = 500 * time.Millisecond

// standalone serves a database from within this process, unless another process does.
// Several programs may use the same database: one of them has the daemon. When it ends,
// another one takes over with the same socket and token, so that runners only see a short
// outage.
type standalone struct {
	app      *cli.Factory
	options  Options
	database string
	path     string // of the endpoint file

	// daemon and log belong to dialStandalone until keep runs, then to keep until
	// done is closed.
	daemon *server.Daemon
	log    *os.File
	cancel context.CancelFunc
	done   chan struct{} // nil if keep does not run
}

// dialStandalone connects to the daemon of the standalone database: to its owner, or to one
// in this process.
func dialStandalone(ctx context.Context, a *cli.Factory, start bool, options Options) (*cli.Connection, error) {
	database := StandaloneDatabase(a)
	s := &standalone{app: a, options: options, database: database, path: server.DatabaseEndpointPath(database)}
	c, err := DialEndpoint(ctx, a, s.path)
	switch {
	case err != nil:
		return nil, err
	case c == nil && !start:
		return nil, workflow.Errorf(workflow.CodeUnavailable, "no server runs on %s", database)
	case c == nil:
		if c, err = s.start(ctx); err != nil {
			return nil, err
		}
	}
	if s.daemon == nil && a.Flags.InMemory {
		c.CloseIdle()
		return nil, workflow.Errorf(workflow.CodeConflict, "--in-memory: another program has a server on %s", database).
			WithHint("leave out --in-memory to use that one, or name another file with --db")
	}
	c.Disconnect = s.close
	if s.daemon == nil && start {
		s.watch()
	}
	return c, nil
}

// start starts a daemon in this process, or waits for that of another program that was
// faster.
func (s *standalone) start(ctx context.Context) (*cli.Connection, error) {
	if err := os.MkdirAll(filepath.Dir(s.database), 0o777); err != nil {
		return nil, workflow.Errorf(workflow.CodeForbidden, "create the folder of the database: %v", err).
			WithHint("choose another one with --db")
	}
	wait := time.NewTicker(50 * time.Millisecond)
	defer wait.Stop()
	for deadline := time.Now().Add(pingTime); ; {
		err := s.serve(ctx)
		if err == nil {
			return endpointConnection(s.app, s.daemon.Endpoint(), s.path)
		}
		if workflow.CodeOf(err) != workflow.CodeConflict || time.Now().After(deadline) {
			return nil, err
		}
		if c, err := DialEndpoint(ctx, s.app, s.path); c != nil || err != nil {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-wait.C:
		}
	}
}

// serve starts the daemon in this process.
func (s *standalone) serve(ctx context.Context) error {
	log, err := trustedfile.Append(s.database+".log", 0o600)
	if err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "log of the server: %v", err).
			WithHint("choose another folder with --db")
	}
	o, err := s.options(s.app, cli.LogTo(log, slog.LevelInfo))
	if err != nil {
		return errors.Join(err, log.Close())
	}
	o.Database, o.EndpointPath = s.database, s.path
	if s.app.Flags.InMemory {
		if err := keepInMemory(s.app, &o); err != nil {
			return errors.Join(err, log.Close())
		}
	}
	d, err := server.Start(ctx, o)
	if err != nil {
		log.Close()
		return err
	}
	s.daemon, s.log = d, log
	return nil
}

// watch starts the daemon in this process when the program that has it ends.
func (s *standalone) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		s.keep(ctx)
	}()
}

func (s *standalone) keep(ctx context.Context) {
	tick := time.NewTicker(takeoverCheck)
	defer tick.Stop()
	for s.daemon == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c, err := DialEndpoint(ctx, s.app, s.path)
		if c != nil {
			c.CloseIdle()
		}
		if c != nil || err != nil || ctx.Err() != nil {
			continue
		}
		if err := s.serve(ctx); err != nil && !errors.Is(err, context.Canceled) {
			s.app.Log.Debug("cannot take over the database", "database", s.database, "error", err)
		}
	}
}

// close stops the daemon if it is in this process.
func (s *standalone) close() error {
	if s.done != nil {
		s.cancel()
		<-s.done
	}
	if s.daemon == nil {
		return nil
	}
	s.daemon.Stop()
	if err := errors.Join(s.daemon.Wait(), s.log.Close()); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return nil
}
