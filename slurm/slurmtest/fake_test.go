package slurmtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// virtual returns a cluster with a virtual clock, and its client.
func virtual(t *testing.T, opts slurmtest.Options) (*slurmtest.Cluster, *slurm.Client, *fakeClock) {
	t.Helper()
	clock := newClock()
	opts.Now = clock.Now
	c := slurmtest.New(opts)
	return c, slurm.New(slurm.Options{Executor: c, Now: clock.Now}), clock
}

func submit(t *testing.T, client *slurm.Client, lines string, args ...string) (slurm.JobID, error) {
	t.Helper()
	job, err := client.Submit(t.Context(), slurm.Submission{Script: []byte("#!/bin/bash\n" + lines), Args: args, Dir: "/"})
	return job.ID, err
}

// TestFaults: the client sees each fault as it would be on a real cluster, as often as
// requested.
func TestFaults(t *testing.T) {
	c, client, _ := virtual(t, slurmtest.Options{})
	count := func(name string) int {
		queue, err := client.Queue(t.Context(), slurm.QueueQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(named(queue, name))
	}
	c.Inject(with(slurmtest.TimedOut(slurm.Sbatch, true), 1))
	if _, err := submit(t, client, "true", "--job-name=a"); slurm.ClassOf(err) != slurm.Ambiguous || count("a") != 1 {
		t.Errorf("sbatch that timed out with a job: %v, %d jobs", err, count("a"))
	}
	c.Inject(with(slurmtest.TimedOut(slurm.Sbatch, false), 1))
	if _, err := submit(t, client, "true", "--job-name=b"); slurm.ClassOf(err) != slurm.Ambiguous || count("b") != 0 {
		t.Errorf("sbatch that timed out without a job: %v, %d jobs", err, count("b"))
	}
	if _, err := submit(t, client, "true", "--job-name=c"); err != nil || count("c") != 1 {
		t.Errorf("sbatch after that: %v", err)
	}
	for name, fault := range map[string]slurmtest.Fault{
		"garbage": slurmtest.Garbage(slurm.Squeue, "<html></html>\n"),
		"empty":   slurmtest.Garbage(slurm.Squeue, ""),
		"cut":     slurmtest.Cut(slurm.Squeue, 7000),
		"refused": slurmtest.Refusal(slurm.Squeue, "slurm_load_jobs error: Socket timed out on send/recv operation"),
		"down":    slurmtest.ControllerDown(),
	} {
		remove := c.Inject(fault)
		if queue, err := client.Queue(t.Context(), slurm.QueueQuery{}); slurm.ClassOf(err) != slurm.Unavailable {
			t.Errorf("%s: %+v, %v", name, queue, err)
		}
		remove()
		if _, err := client.Queue(t.Context(), slurm.QueueQuery{}); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	defer c.Inject(slurmtest.AccountingDown())()
	if _, err := client.Accounting(t.Context(), slurm.AccountingQuery{}); slurm.ClassOf(err) != slurm.Unavailable {
		t.Errorf("accounting down: %v", err)
	}
	if _, err := client.Config(t.Context()); err != nil {
		t.Errorf("the controller is up: %v", err)
	}
}

func with(f slurmtest.Fault, times int) slurmtest.Fault {
	f.Times = times
	return f
}

// TestLag: accounting has an event only some time after it.
func TestLag(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{Lag: time.Minute})
	id, err := submit(t, client, "sleep 10", "-t5")
	if err != nil {
		t.Fatal(err)
	}
	states := func() string {
		records, err := client.Accounting(t.Context(), slurm.AccountingQuery{IDs: []slurm.JobID{id}})
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, r := range records.Restarts(id) {
			words = append(words, string(r.State))
		}
		return strings.Join(words, " ")
	}
	var seen []string
	for range 8 {
		seen = append(seen, states())
		step(clock, c, 10*time.Second)
	}
	if got := strings.Join(seen, "|"); got != "||||||RUNNING|COMPLETED" {
		t.Errorf("seen: %s", got)
	}
}

// TestForgotten: the controller forgets a job MinJobAge after its end, accounting does
// not.
func TestForgotten(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{})
	id, err := submit(t, client, "sleep 10", "-t5")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, true, false} { // at 35 s, 69 s and 104 s
		step(clock, c, 34500*time.Millisecond)
		if _, found, err := client.ShowJob(t.Context(), id); err != nil || found != want {
			t.Errorf("found %v, %v", found, err)
		}
	}
	if records, err := client.Accounting(t.Context(), slurm.AccountingQuery{IDs: []slurm.JobID{id}}); err != nil || len(records.Restarts(id)) != 1 {
		t.Errorf("accounting: %+v, %v", records, err)
	}
}

// TestShortOutage: a slurmd that is back before the controller misses it reports how its
// job ended.
func TestShortOutage(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{})
	id, err := submit(t, client, "sleep 5\nexit 4", "-t5")
	if err != nil {
		t.Fatal(err)
	}
	c.KillNode("n1", false)
	step(clock, c, 8*time.Second)
	c.RestoreNode("n1")
	step(clock, c, 8*time.Second)
	if detail, found, err := client.ShowJob(t.Context(), id); err != nil || !found || detail.State != slurm.Failed || detail.Exit.Code != 4 {
		t.Errorf("%+v, %v, %v", detail, found, err)
	}
}

// TestPower: a node without power loses its processes at once and is noticed later; a
// node whose slurmd alone is dead keeps them until it is back.
func TestPower(t *testing.T) {
	for _, power := range []bool{true, false} {
		var got []string
		launch := func(_ *slurmtest.Cluster, r *slurmtest.Restart) slurmtest.Process {
			return signalFunc(func(name string, _ slurmtest.Target) { got = append(got, name); r.Exit(slurm.ExitCode{Signal: 9}) })
		}
		c, client, clock := virtual(t, slurmtest.Options{Launch: launch})
		id, err := submit(t, client, "", "-t5", "--no-requeue")
		if err != nil {
			t.Fatal(err)
		}
		c.KillNode("n1", power)
		step(clock, c, 11*time.Second)
		queue, err := client.Queue(t.Context(), slurm.QueueQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if job, _ := queue.Find(id); job.State != slurm.NodeFail {
			t.Errorf("power %v: %+v", power, job)
		}
		if (strings.Join(got, " ") == "KILL") != power {
			t.Errorf("power %v: signals %q", power, got)
		}
		c.RestoreNode("n1")
		if strings.Join(got, " ") != "KILL" {
			t.Errorf("power %v: signals %q when the node is back", power, got)
		}
	}
}

type signalFunc func(string, slurmtest.Target)

func (f signalFunc) Signal(name string, to slurmtest.Target) { f(name, to) }

// TestDeterministic: with one goroutine and a virtual clock nothing is left to chance.
func TestDeterministic(t *testing.T) {
	history := func() string {
		c, client, clock := virtual(t, slurmtest.Options{Completing: time.Second})
		var log strings.Builder
		for i := range 40 {
			partition := []string{"debug", "standby", "scavenge"}[i%3]
			if _, err := submit(t, client, "sleep 25", "-t1", "-c3", "--partition="+partition); err != nil {
				t.Fatal(err)
			}
			step(clock, c, 3*time.Second)
			queue, err := client.Queue(t.Context(), slurm.QueueQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, job := range queue.Jobs {
				log.WriteString(job.ID.String() + string(job.State) + job.NodeList + " ")
			}
		}
		return log.String()
	}
	first := history()
	if !strings.Contains(first, "PREEMPTED") || first != history() {
		t.Error("two runs differ, or nothing was preempted")
	}
}

// TestProcesses runs scripts as real processes, with the programs of Slurm as
// files that other processes can call.
// processesIn starts a Slurm whose programs are in a folder, and whose nodes are
// this machine.
func processesIn(t *testing.T, dir string) (c *slurmtest.Cluster, paths map[string]string) {
	t.Helper()
	processes := slurmtest.NewProcesses()
	c = slurmtest.New(slurmtest.Options{Launch: processes.Launch, KillWait: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	var live sync.WaitGroup
	live.Go(func() { c.Live(ctx) })
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stop, err := slurmtest.Serve(c, dir, binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		processes.Close()
		cancel()
		live.Wait()
	})
	paths = map[string]string{}
	for _, program := range []string{slurm.Sbatch, slurm.Squeue, slurm.Sacct, slurm.Scancel, slurm.Srun} {
		paths[program] = filepath.Join(dir, program)
	}
	return c, paths
}

func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	c, paths := processesIn(t, dir)
	client := slurm.New(slurm.Options{Executor: &slurm.OS{Paths: paths}, Timeouts: map[string]time.Duration{slurm.Sbatch: 5 * time.Second}})
	t.Run("output and step", func(t *testing.T) { testOutput(t, client, dir) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, client, dir) })
	t.Run("hang", func(t *testing.T) {
		c.Inject(with(slurmtest.TimedOut(slurm.Squeue, false), 1))
		impatient := slurm.New(slurm.Options{Executor: &slurm.OS{Paths: paths}, Timeouts: map[string]time.Duration{slurm.Squeue: time.Second}})
		if _, err := impatient.Queue(t.Context(), slurm.QueueQuery{}); slurm.ClassOf(err) != slurm.Unavailable {
			t.Errorf("%v", err)
		}
	})
}

// TestProcessesOfTwo: the end of a job does not end processes of the job with the same
// number in another Slurm of this process.
func TestProcessesOfTwo(t *testing.T) {
	var clients []*slurm.Client
	dir := t.TempDir()
	for range 2 {
		_, paths := processesIn(t, t.TempDir())
		clients = append(clients, slurm.New(slurm.Options{Executor: &slurm.OS{Paths: paths}}))
	}
	submit := func(client *slurm.Client, script string) slurm.JobID {
		job, err := client.Submit(t.Context(), slurm.Submission{Script: []byte("#!/bin/sh\n" + script), Dir: dir, Args: []string{"--job-name=one"}})
		if err != nil {
			t.Fatal(err)
		}
		return job.ID
	}
	long := submit(clients[0], "while [ ! -e over ]; do sleep 0.05; done\n")
	await(t, clients[0], long, slurm.Running)
	short := submit(clients[1], "true\n")
	await(t, clients[1], short, slurm.Completed)
	if long != short {
		t.Fatalf("the jobs are %v and %v", long, short)
	}
	if err := os.WriteFile(filepath.Join(dir, "over"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, clients[0], long, slurm.Completed)
}

func await(t *testing.T, client *slurm.Client, id slurm.JobID, state slurm.State) slurm.Job {
	t.Helper()
	var job slurm.Job
	slurmtest.Eventually(t, 20*time.Second, "job becomes "+string(state), func() bool {
		queue, err := client.Queue(t.Context(), slurm.QueueQuery{IDs: []slurm.JobID{id}})
		if err != nil {
			t.Fatal(err)
		}
		job, _ = queue.Find(id)
		return job.State == state
	})
	return job
}

func testOutput(t *testing.T, client *slurm.Client, dir string) {
	script := "#!/bin/sh\n#SBATCH --output=%x-%j.txt\n" +
		"echo job $SLURM_JOB_ID on $SLURM_JOB_NODELIST $OWN\n" + filepath.Join(dir, slurm.Srun) + " --jobid=$SLURM_JOB_ID --ntasks=1 sh -c 'exit 5'\necho step $?\nexit 3\n"
	job, err := client.Submit(t.Context(), slurm.Submission{
		Script: []byte(script), Dir: dir, Args: []string{"--job-name=out"}, Env: []string{"OWN=variable"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ended := await(t, client, job.ID, slurm.Failed); ended.Exit.Code != 3 {
		t.Errorf("job: %+v", ended)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out-"+job.ID.String()+".txt"))
	if want := "job " + job.ID.String() + " on n1 variable\nstep 5\n"; err != nil || string(text) != want {
		t.Errorf("output %q, %v; want %q", text, err, want)
	}
	records, err := client.Accounting(t.Context(), slurm.AccountingQuery{IDs: []slurm.JobID{job.ID}})
	if err != nil {
		t.Fatal(err)
	}
	if steps := records.Steps(job.ID); len(steps) != 2 || steps[1].Exit.Code != 5 || steps[1].State != slurm.Failed {
		t.Errorf("steps: %+v", steps)
	}
}

// A process that has left the script's session dies with its job.
func testCancel(t *testing.T, client *slurm.Client, dir string) {
	job, err := client.Submit(t.Context(), slurm.Submission{
		Script: []byte("#!/bin/sh\ntrap '' TERM\nsetsid sleep 1000 &\necho $! >child.pid\nwait\nsleep 1000\n"), Dir: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := filepath.Join(dir, "child.pid")
	slurmtest.Eventually(t, 10*time.Second, "the child runs", func() bool { text, err := os.ReadFile(pid); return err == nil && len(text) > 0 })
	if err := client.Cancel(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	await(t, client, job.ID, slurm.Cancelled)
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	slurmtest.Eventually(t, 10*time.Second, "the child is gone", func() bool {
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(status), ") Z ")
	})
}

// named returns the jobs with a name.
func named(q slurm.Queue, name string) (jobs []slurm.Job) {
	for _, job := range q.Jobs {
		if job.Name == name {
			jobs = append(jobs, job)
		}
	}
	return jobs
}
