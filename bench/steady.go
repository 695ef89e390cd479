package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// The steady state: this many allocations, each of which runs one job of about a minute
// after another. There are few enough jobs to end soon by themselves if this program is
// killed.
const (
	steadyAllocations = 50
	steadyJobs        = 8 * steadyAllocations
	steadyBegin       = 90 * time.Second // until the state is steady
	steadyFor         = 3 * time.Minute
	steadySample      = 5 * time.Second
)

// fakeCluster is a fake Slurm that starts real runners on this machine.
type fakeCluster struct {
	*slurmtest.Cluster
	dir string
	env []string // of its user
}

// home returns the home directory of its user's daemon.
func (f *fakeCluster) home() string { return filepath.Join(f.dir, "home") }

// runSteady measures the daemon of a login node, once, whatever the number of rounds.
func runSteady(ctx context.Context, b *bench) (err error) {
	f, stop, err := b.fakeCluster()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := f.submitSteady(ctx, b.binary); err != nil {
		return err
	}
	e, err := server.ReadEndpoint(server.EndpointPath(f.home()))
	if err != nil {
		return err
	}
	begin, lasts := steadyBegin, steadyFor
	if b.quick {
		begin, lasts = begin/3, lasts/3
	}
	if err := pause(ctx, begin); err != nil {
		return err
	}
	if n := f.working(); n != steadyAllocations {
		return fmt.Errorf("%d allocations are working, want %d", n, steadyAllocations)
	}
	before := len(f.Calls())
	cpu, err := cpuTime(e.PID)
	if err != nil {
		return err
	}
	largest, err := largestRSS(ctx, e.PID, lasts)
	if err != nil {
		return err
	}
	used, err := cpuTime(e.PID)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("daemon with %d busy allocations", steadyAllocations)
	b.table.add(row{what: what + ", memory", ours: fmt.Sprintf("%.1f MiB", float64(largest)/(1<<20)), must: "50 MiB", aim: "40 MiB"})
	b.table.add(row{what: "… CPU", ours: fmt.Sprintf("%.2f %%", 100*(used-cpu).Seconds()/lasts.Seconds())})
	b.addCalls(f.Calls()[before:], lasts)
	return nil
}

// largestRSS observes the memory of a process for a while.
func largestRSS(ctx context.Context, pid int, d time.Duration) (largest int64, err error) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := pause(ctx, steadySample); err != nil {
			return 0, err
		}
		now, err := rss(pid)
		if err != nil {
			return 0, err
		}
		largest = max(largest, now)
	}
	return largest, nil
}

// addCalls adds a row for the calls of Slurm, by program.
func (b *bench) addCalls(calls []slurm.Command, in time.Duration) {
	perMinute := func(n int) string { return fmt.Sprintf("%.2f/min", float64(n)/in.Minutes()) }
	programs, controller := map[string]int{}, 0
	for _, call := range calls {
		name := call.Program
		if name == slurm.Scontrol {
			name += " " + slices.Concat(call.Args, []string{""})[0]
		}
		if slices.ContainsFunc(call.Env, func(v string) bool { return strings.HasPrefix(v, slurmtest.RestartVariable+"=") }) {
			name += ", by runners"
		}
		programs[name]++
		if call.Program != slurm.Sacct && call.Program != slurm.Sacctmgr {
			controller++
		}
	}
	b.table.add(row{what: "… calls to slurmctld by daemon and runners", ours: perMinute(controller), must: "2/min", aim: "2/min"})
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		b.table.add(row{what: "… of all calls: " + name, ours: perMinute(programs[name])})
	}
}

// fakeCluster creates a cluster with a node for each allocation; stop ends everything
// that was started there.
func (b *bench) fakeCluster() (f *fakeCluster, stop func() error, err error) {
	dir, err := b.folder("steady")
	if err != nil {
		return nil, nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	var nodes []slurmtest.Node
	for i := range steadyAllocations {
		nodes = append(nodes, slurmtest.Node{Name: fmt.Sprintf("n%d", i+1), CPUs: nodeCPUs, Memory: 4000 * slurm.MiB})
	}
	processes := slurmtest.NewProcesses()
	f = &fakeCluster{Cluster: slurmtest.New(slurmtest.Options{User: me.Username, Launch: processes.Launch, Nodes: nodes}), dir: dir}
	programs := filepath.Join(dir, "slurm")
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return nil, nil, err
	}
	end, err := slurmtest.Serve(f.Cluster, programs, self)
	if err != nil {
		return nil, nil, err
	}
	f.env = append(os.Environ(), "TORC_HOME="+f.home(), "TMPDIR="+dir)
	for _, p := range []string{slurm.Sbatch, slurm.Squeue, slurm.Sacct, slurm.Scancel, slurm.Scontrol, slurm.Sinfo, slurm.Sacctmgr, slurm.Srun} {
		f.env = append(f.env, "TORC_FAKE_"+strings.ToUpper(p)+"="+filepath.Join(programs, p))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var live sync.WaitGroup
	live.Go(func() { f.Live(ctx) })
	return f, func() error {
		err := endDaemon(f.home())
		processes.Close()
		end()
		cancel()
		live.Wait()
		return err
	}, nil
}

// submitSteady submits work for all allocations; the daemon chooses them.
func (f *fakeCluster) submitSteady(ctx context.Context, binary string) error {
	spec := fmt.Sprintf(`name: steady
resource_requirements: [{name: node, num_cpus: %[1]d, memory: 1g, runtime: PT8H}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, action_type: schedule_nodes, max_allocations: %[2]d, max_submit_per_minute: %[2]d}]
jobs: [{name: 'j{i}', command: 'sleep $((40 + RANDOM %% 40))', parameters: {i: '1:%[3]d'}, resource_requirements: node}]
`, nodeCPUs, steadyAllocations, steadyJobs)
	path := filepath.Join(f.dir, "steady.yaml")
	if err := os.WriteFile(path, []byte(spec), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, "submit", path)
	cmd.Dir, cmd.Env = f.dir, f.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("submit: %w\n%s", err, tail(stderr.String()))
	}
	return nil
}

// working returns the number of running allocations.
func (f *fakeCluster) working() (n int) {
	queue, err := slurm.New(slurm.Options{Executor: f.Cluster}).Queue(context.Background(), slurm.QueueQuery{})
	if err != nil {
		return 0
	}
	for _, j := range queue.Jobs {
		if j.State == slurm.Running {
			n++
		}
	}
	return n
}
