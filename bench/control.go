package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/store"
)

// The runners of the control plane benchmark; together they offer as much as a small
// cluster.
const (
	controlRunners = 4
	controlCPUs    = 128 // of each
)

// runControl measures everything but processes: daemon, database, HTTP and runners, whose
// executor reports at once that a job has ended.
func runControl(ctx context.Context, b *bench) error {
	n := b.size(200_000)
	var rates []float64
	for range b.rounds {
		took, err := b.control(ctx, n)
		if err != nil {
			return err
		}
		rates = append(rates, perSecond(n, took))
		say("  %s", rate(perSecond(n, took)))
	}
	b.table.add(row{what: fmt.Sprintf("control plane alone, %d jobs, %d runners of %d CPUs", n, controlRunners, controlCPUs),
		ours: rate(median(rates)), must: "20000 jobs/s", aim: "50000 jobs/s"})
	return nil
}

// control runs n jobs that exist already and returns how long it took.
func (b *bench) control(ctx context.Context, n int) (time.Duration, error) {
	dir, idText, err := b.queued(ctx, n)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if _, err := command(ctx, dir, b.binary, "-s", "workflows", "init", idText, "--no-prompts"); err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(idText, 10, 64)
	if err != nil {
		return 0, err
	}
	url, stop, err := inProcess(ctx, standaloneDatabase(dir))
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = nullRunners(ctx, url, id, dir)
	took := time.Since(start)
	if err := errors.Join(err, stop()); err != nil {
		return 0, err
	}
	done, err := attempts(ctx, dir, "j*")
	if err != nil {
		return 0, err
	}
	if len(done) != n {
		return 0, fmt.Errorf("%d of %d jobs have an attempt", len(done), n)
	}
	return took, nil
}

// inProcess serves a database on a loopback port.
func inProcess(ctx context.Context, database string) (url string, stop func() error, err error) {
	hub := hub.New()
	st, err := store.Open(ctx, store.Options{Path: database, OnCommit: hub.Publish})
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, st.Close())
	}
	api := &server.Server{Store: st, Hub: hub}
	srv := &http.Server{Handler: api.Handler()}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	stop = func() error {
		err := srv.Close()
		if e := <-served; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		api.Close()
		return errors.Join(err, st.Close())
	}
	return "http://" + listener.Addr().String() + "/torc-service/v1", stop, nil
}

// nullRunners runs a workflow to its end without a process.
func nullRunners(ctx context.Context, url string, workflowID int64, dir string) error {
	errs := make(chan error, controlRunners)
	for i := range controlRunners {
		go func() { errs <- nullRunner(ctx, url, workflowID, filepath.Join(dir, fmt.Sprintf("runner%d", i))) }()
	}
	var all []error
	for range controlRunners {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func nullRunner(ctx context.Context, url string, workflowID int64, dir string) error {
	c, err := client.New(client.Options{URL: url})
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Options{
		Client: c.Runners, WorkflowID: workflowID, OutputDir: dir, APIURL: url,
		Hostname: filepath.Base(dir), MaxParallelJobs: controlCPUs, Executor: nullExecutor{},
	})
	if err != nil {
		return err
	}
	_, err = r.Run(ctx)
	return err
}

// nullExecutor ends every command at once and successfully, without a process.
type nullExecutor struct{}

// Start calls exited before it returns.
func (nullExecutor) Start(_ *process.Command, exited func(process.Exit)) (int, error) {
	exited(process.Exit{At: time.Now()})
	return 0, nil
}
