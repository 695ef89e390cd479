package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// cluster is a user of the real cluster with a daemon of their own.
type cluster struct {
	t    *testing.T
	real *slurmtest.Real
	dir  string // holds the program, the home and everything else
}

// newCluster copies the program to where the user of the cluster can run it.
func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, real: slurmtest.UseReal(t)}
	c.dir = c.real.Dir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, self, c.program())
	t.Cleanup(func() {
		if t.Failed() {
			c.cancelAll()
		}
		endDaemon(server.EndpointPath(filepath.Join(c.dir, "home")))
	})
	return c
}

// cancelAll cancels what a failed test has left.
func (c *cluster) cancelAll() {
	out, err := c.tryRun("-f", "csv", "workflows", "list")
	for line := range strings.Lines(string(out.Stdout)) {
		id, _, _ := strings.Cut(line, ",")
		if _, e := strconv.Atoi(id); e == nil {
			_, e := c.tryRun("cancel", id, "--no-prompts")
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		c.t.Logf("cancel what is left: %v", err)
	}
}

func (c *cluster) program() string { return filepath.Join(c.dir, "torc-slurm") }

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err != nil || e != nil {
		t.Fatal(err, e)
	}
}

func (c *cluster) tryRun(args ...string) (slurm.Output, error) {
	return c.real.User().Run(context.WithoutCancel(c.t.Context()), slurm.Command{
		Program: c.program(), Args: args, Dir: c.dir,
		Env: []string{"HOME=" + c.dir, "TORC_HOME=" + filepath.Join(c.dir, "home"), "TMPDIR=" + c.dir, "TORC_SERVER__IDLE_TIMEOUT_SECS=60", "TORC_SERVER__NODE_HOST=127.0.0.1"},
	})
}

// run runs a command of the program and returns what it wrote.
func (c *cluster) run(args ...string) string {
	c.t.Helper()
	out, err := c.tryRun(args...)
	if err != nil || out.ExitCode != 0 {
		c.t.Fatalf("torc-slurm %s: exit status %d, %v\n%s%s", strings.Join(args, " "), out.ExitCode, err, out.Stdout, out.Stderr)
	}
	return string(out.Stdout)
}

// start creates a workflow and asks for one allocation for it.
func (c *cluster) start(name, spec string, cpus int) (workflowID string) {
	c.t.Helper()
	file := filepath.Join(c.dir, name+".yaml")
	text := "name: " + name + "\n" + spec + fmt.Sprintf(`
slurm_schedulers: [{name: s, account: research, partition: debug, mem: 300M, nodes: 1, walltime: "00:01:00", extra: "--cpus-per-task=%d"}]
`, cpus)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	var made struct {
		ID int64 `json:"workflow_id"`
	}
	if err := json.Unmarshal([]byte(c.run("-f", "json", "create", "--skip-checks", file)), &made); err != nil {
		c.t.Fatal(err)
	}
	id := strconv.FormatInt(made.ID, 10)
	c.run("slurm", "schedule", id, "-n", "1", "--skip-checks", "-o", filepath.Join(c.dir, name)) // some fit no such allocation, as is meant
	return id
}

// results are those of all attempts, as "job: return code cause".
func (c *cluster) results(workflowID string) []string {
	c.t.Helper()
	var page struct {
		Items []api.Result `json:"items"`
	}
	if err := json.Unmarshal([]byte(c.run("-f", "json", "results", "list", workflowID, "--all-runs")), &page); err != nil {
		c.t.Fatal(err)
	}
	lines := []string{}
	for _, r := range page.Items {
		lines = append(lines, fmt.Sprintf("%s: %d %s", *r.JobName, r.ReturnCode, *r.Cause))
	}
	slices.Sort(lines)
	return lines
}

// expect waits for the results of a workflow, and then for the end of its
// allocation.
func (c *cluster) expect(t *testing.T, name, workflowID string, want []string) {
	t.Helper()
	var got []string
	slurmtest.Eventually(t, 4*time.Minute, "all jobs of workflow "+workflowID+" have ended", func() bool {
		got = c.results(workflowID)
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		t.Errorf("results %q, want %q", got, want)
	}
	client := slurm.New(slurm.Options{Executor: c.real.User()})
	slurmtest.Eventually(t, 10*time.Second, "the allocation is released", func() bool {
		queue, err := client.Queue(t.Context(), slurm.QueueQuery{User: slurmtest.TestUser})
		return err == nil && !slices.ContainsFunc(queue.Jobs, func(j slurm.Job) bool {
			return strings.HasPrefix(j.Name, "torc:"+name+"."+workflowID+".") && !j.State.Over()
		})
	})
}

// hungry uses up its memory in a child.
const hungry = `python3 -c "x = bytearray(600 << 20)"`

// short are requirements for which an allocation of a minute has time.
const short = "resource_requirements: [{name: small, num_cpus: 1, memory: 60m, runtime: PT1S}, {name: long, num_cpus: 1, memory: 60m, runtime: PT10M}]"

// outOfMemory is a job that is killed for it, one whose child is while the job
// itself ends well, and one that fails for another reason.
const outOfMemory = short + `
execution_config: {mode: %s}
jobs:
  - {name: failure, command: exit 3, resource_requirements: small}
  - {name: killed, command: '` + hungry + `', resource_requirements: small, depends_on: [failure], cancel_on_blocking_job_failure: false}
  - {name: hidden, command: '` + hungry + `; exit 0', resource_requirements: small, depends_on: [killed], cancel_on_blocking_job_failure: false}`

// untilTheEnd are jobs that use all of their allocation: one writes a
// checkpoint and is done, one wants to be run again, one does not listen. The
// last one would not fit.
const untilTheEnd = short + `
execution_config: {mode: %s}
jobs:
  - {name: done, command: 'trap "exit 0" TERM; for i in {1..900}; do sleep 0.1; done', resource_requirements: small}
  - {name: again, command: 'trap "exit 7" TERM; for i in {1..900}; do sleep 0.1; done', resource_requirements: small}
  - {name: deaf, command: 'trap "" TERM; for i in {1..900}; do sleep 0.1; done', resource_requirements: small}
  - {name: long, command: 'true', resource_requirements: long}`

// TestRunnersOnSlurm has runners meet what Slurm does to them, all at the same
// time.
func TestRunnersOnSlurm(t *testing.T) {
	c := newCluster(t)
	specs := map[string]string{
		"walltime-direct": fmt.Sprintf(untilTheEnd, "direct"),
		"walltime-slurm":  fmt.Sprintf(untilTheEnd, "slurm"),
		"killed":          short + "\njobs: [{name: sleeps, command: 'echo $PPID $$ > pids; exec sleep 300', resource_requirements: small}]",
	}
	ends := map[string][]string{
		"walltime-direct": {"again: 7 walltime", "deaf: 152 walltime", "done: 0 ok"},
		"walltime-slurm":  {"again: 7 walltime", "deaf: 152 walltime", "done: 0 ok"},
		"killed":          {"sleeps: -128 lost"},
	}
	if c.real.CanLimitMemory() {
		specs["memory-direct"] = fmt.Sprintf(outOfMemory, "direct, limit_resources: false")
		specs["memory-slurm"] = fmt.Sprintf(outOfMemory, "slurm")
		ends["memory-direct"] = []string{"failure: 3 exit", "hidden: 137 oom_partial", "killed: 137 oom"}
		ends["memory-slurm"] = []string{"failure: 3 exit", "hidden: 137 oom", "killed: 137 oom"} // srun exits with 1
	}
	ids := map[string]string{}
	for name, spec := range specs {
		cpus := 1
		if strings.HasPrefix(name, "walltime") {
			cpus = 3
		}
		ids[name] = c.start(name, spec, cpus)
	}
	c.killRunner()
	for name, want := range ends {
		t.Run(name, func(t *testing.T) { c.expect(t, name, ids[name], want) })
	}
}

// killRunner kills the runner of the workflow "killed", whose job must not live
// longer.
func (c *cluster) killRunner() {
	c.t.Helper()
	var runner, job int
	slurmtest.Eventually(c.t, 3*time.Minute, "the job runs", func() bool {
		text, err := os.ReadFile(filepath.Join(c.dir, "pids"))
		if err != nil {
			return false
		}
		n, _ := fmt.Sscan(string(text), &runner, &job)
		return n == 2
	})
	if err := syscall.Kill(runner, syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
	slurmtest.Eventually(c.t, time.Minute, "nothing is left of the job", func() bool { return syscall.Kill(job, 0) != nil })
}
