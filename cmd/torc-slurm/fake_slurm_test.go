package main

import (
	"context"
	"os"
	"os/user"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// scriptFakeSlurm gives a script a Slurm of its own, whose nodes are this
// machine: fakeslurm
func scriptFakeSlurm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: fakeslurm")
	}
	_, variables, stop, err := startFakeSlurm(ts.MkAbs("slurm"))
	ts.Check(err)
	ts.Defer(stop)
	for name, path := range variables {
		ts.Setenv(name, path)
	}
}

// startFakeSlurm starts a Slurm whose nodes are this machine. Its programs are
// in a folder; variables make other processes use them.
func startFakeSlurm(dir string) (cluster *slurmtest.Cluster, variables map[string]string, stop func(), err error) {
	me, err := user.Current()
	if err != nil {
		return nil, nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, nil, err
	}
	processes := slurmtest.NewProcesses()
	cluster = slurmtest.New(slurmtest.Options{User: me.Username, Launch: processes.Launch, KillWait: 200 * time.Millisecond})
	end, err := slurmtest.Serve(cluster, dir, self)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var live sync.WaitGroup
	live.Go(func() { cluster.Live(ctx) })
	variables = make(map[string]string)
	for _, program := range []string{
		slurm.Sbatch, slurm.Squeue, slurm.Sacct, slurm.Scancel, slurm.Scontrol, slurm.Sinfo, slurm.Sacctmgr, slurm.Srun,
	} {
		variables["TORC_FAKE_"+strings.ToUpper(program)] = dir + "/" + program
	}
	return cluster, variables, func() {
		end()
		processes.Close()
		cancel()
		live.Wait()
	}, nil
}
