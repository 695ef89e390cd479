package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// dialStandalone connects to the daemon of a database of its own: the one that
// owns it, or one in this process.
func (a *app) dialStandalone(ctx context.Context, start bool) (*connection, error) {
	database := a.database()
	path := server.DatabaseEndpointPath(database)
	c, err := a.dialEndpoint(ctx, path)
	if c != nil || err != nil {
		return c, err
	}
	if !start {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "no server runs on %s", database)
	}
	if err := os.MkdirAll(filepath.Dir(database), 0o777); err != nil {
		return nil, workflow.Errorf(workflow.CodeForbidden, "make the folder of the database: %v", err).
			WithHint("choose another one with --db")
	}
	c, err = a.startStandalone(ctx, database, path)
	if workflow.CodeOf(err) != workflow.CodeConflict {
		return c, err
	}
	// Another program owns the database; it may be about to listen.
	refusal := err
	wait := time.NewTicker(50 * time.Millisecond)
	defer wait.Stop()
	for deadline := time.Now().Add(pingTime); time.Now().Before(deadline); {
		if c, err := a.dialEndpoint(ctx, path); c != nil || err != nil {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-wait.C:
		}
	}
	return nil, refusal
}

// startStandalone starts a daemon within this process.
func (a *app) startStandalone(ctx context.Context, database, path string) (*connection, error) {
	log, err := os.OpenFile(database+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeForbidden, "log of the server: %v", err).
			WithHint("choose another folder with --db")
	}
	o, err := a.daemonOptions(logTo(log, slog.LevelInfo))
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	o.Database, o.EndpointPath = database, path
	d, err := server.Start(ctx, o)
	if err != nil {
		log.Close()
		return nil, err
	}
	c, err := a.endpointConnection(d.Endpoint(), path)
	if err != nil {
		return nil, err
	}
	c.close = func() error {
		d.Stop()
		if err := errors.Join(d.Wait(), log.Close()); err != nil {
			return fmt.Errorf("stop the server: %w", err)
		}
		return nil
	}
	return c, nil
}
