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
	me, err := user.Current()
	ts.Check(err)
	self, err := os.Executable()
	ts.Check(err)
	dir := ts.MkAbs("slurm")
	ts.Check(os.MkdirAll(dir, 0o777))

	processes := slurmtest.NewProcesses()
	cluster := slurmtest.New(slurmtest.Options{User: me.Username, Launch: processes.Launch, KillWait: 200 * time.Millisecond})
	stop, err := slurmtest.Serve(cluster, dir, self)
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	var live sync.WaitGroup
	live.Go(func() { cluster.Live(ctx) })
	ts.Defer(func() {
		stop()
		processes.Close()
		cancel()
		live.Wait()
	})
	for _, program := range []string{
		slurm.Sbatch, slurm.Squeue, slurm.Sacct, slurm.Scancel, slurm.Scontrol, slurm.Sinfo, slurm.Sacctmgr, slurm.Srun,
	} {
		ts.Setenv("TORC_FAKE_"+strings.ToUpper(program), dir+"/"+program)
	}
}
