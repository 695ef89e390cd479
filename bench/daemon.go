package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// runCreate measures the time from the start of the program until the jobs are in the
// database.
func runCreate(ctx context.Context, b *bench) error {
	n := b.size(100_000)
	var took []float64
	for range b.rounds {
		dir, path, err := b.write("create", jobsSpec(n))
		if err != nil {
			return err
		}
		d, err := command(ctx, dir, b.binary, "-s", "create", path)
		if err != nil {
			return err
		}
		took = append(took, d.Seconds())
		os.RemoveAll(dir)
	}
	b.table.add(row{what: fmt.Sprintf("create %d jobs from a spec", n), ours: fmt.Sprintf("%.2f s", median(took)), must: "1.5 s", aim: "0.7 s"})
	return nil
}

func jobsSpec(n int) string {
	return fmt.Sprintf("name: many\njobs:\n  - {name: 'j{i}', command: './simulate --case {i}', parameters: {i: '1:%d'}}\n", n)
}

// idleTime is how long the CPU time of an idle daemon is measured.
const idleTime = 30 * time.Second

// runIdle measures a daemon that has initialized its jobs and waits for a runner that
// never comes.
func runIdle(ctx context.Context, b *bench) error {
	n := b.size(200_000)
	dir, id, err := b.queued(ctx, n)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d, _, err := b.serve(ctx, dir)
	if err != nil {
		return err
	}
	defer d.stop()
	if _, err := command(ctx, dir, b.binary, "--url", d.url, "workflows", "init", id, "--no-prompts"); err != nil {
		return err
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	before, err := cpuTime(d.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := pause(ctx, idleTime); err != nil {
		return err
	}
	after, err := cpuTime(d.cmd.Process.Pid)
	if err != nil {
		return err
	}
	rss, err := rss(d.cmd.Process.Pid)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("idle daemon with %d jobs queued", n)
	b.table.add(row{what: what + ", memory", ours: fmt.Sprintf("%.0f MiB", float64(rss)/(1<<20)), must: "80 MiB", aim: "40 MiB"})
	b.table.add(row{what: what + ", CPU", ours: fmt.Sprintf("%.2f %%", 100*(after-before).Seconds()/idleTime.Seconds()), must: "0.3 %", aim: "0.1 %"})
	return nil
}

// runRestart measures the time from the start of a daemon to its first answer.
func runRestart(ctx context.Context, b *bench) error {
	n := b.size(1_000_000)
	dir, _, err := b.queued(ctx, n)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var took []float64
	for range b.rounds {
		d, t, err := b.serve(ctx, dir)
		if err != nil {
			return err
		}
		took = append(took, t.Seconds())
		d.kill() // as after a crash: the next start has to recover
	}
	b.table.add(row{what: fmt.Sprintf("restart after kill -9 with %d jobs, until it answers", n), ours: fmt.Sprintf("%.2f s", median(took)), must: "1 s", aim: "0.3 s"})
	return nil
}

// queued creates a folder with a database that has a workflow with n jobs.
func (b *bench) queued(ctx context.Context, n int) (dir, id string, err error) {
	dir, path, err := b.write("queued", jobsSpec(n))
	if err != nil {
		return "", "", err
	}
	out, _, err := output(ctx, dir, b.binary, "-s", "-f", "json", "create", path)
	if err != nil {
		return "", "", err
	}
	_, rest, ok := strings.Cut(out, `"workflow_id":`)
	if !ok {
		return "", "", fmt.Errorf("no workflow_id in %q", out)
	}
	return dir, strings.TrimSpace(strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '}' || r == '\n' })[0]), nil
}

// daemon is a running `torc-slurm serve`.
type daemon struct {
	cmd *exec.Cmd
	url string
}

// serve starts a daemon on the database of a folder and returns it with the time until it
// answered a request that reads the database.
func (b *bench) serve(ctx context.Context, dir string) (*daemon, time.Duration, error) {
	cmd := exec.CommandContext(ctx, b.binary, "serve", "--host", "127.0.0.1", "--port", "0", "--database", standaloneDatabase(dir))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TORC_HOME="+filepath.Join(dir, "home"))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	d := &daemon{cmd: cmd}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	port, ok := strings.CutPrefix(strings.TrimSpace(line), "TORC_SERVER_PORT=")
	if err != nil || !ok {
		d.kill()
		return nil, 0, fmt.Errorf("serve printed %q (%w), want TORC_SERVER_PORT=", line, err)
	}
	d.url = "http://127.0.0.1:" + port + "/torc-service/v1"
	for {
		err := get(ctx, d.url+"/workflows?limit=1")
		if err == nil {
			return d, time.Since(start), nil
		}
		if time.Since(start) > time.Minute {
			d.kill()
			return nil, 0, fmt.Errorf("daemon does not answer: %w", err)
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			d.kill()
			return nil, 0, err
		}
	}
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// pause waits, but no longer than ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	_ = d.cmd.Wait()
}

func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}
