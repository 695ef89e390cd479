package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// Size of the test cluster: four nodes of four CPUs.
const (
	clusterNodes = 4
	nodeCPUs     = 4
	clusterSlots = clusterNodes * nodeCPUs
)

const (
	clusterPatience = 15 * time.Minute // for tests that use the cluster
	clusterLook     = 200 * time.Millisecond
	cleanUpTime     = time.Minute
)

// cluster is the test cluster while a workload uses it exclusively, and its user, who has
// the program and a daemon in a folder.
type cluster struct {
	real  *slurmtest.Real
	queue *slurm.Client
	dir   string
	files int      // of stamps
	env   []string // added to that of the user's commands
}

// onCluster runs a workload on the test cluster and leaves nothing there, even if it is
// interrupted.
func (b *bench) onCluster(ctx context.Context, run func(context.Context, *cluster) error) (err error) {
	waiting, cancel := context.WithTimeout(ctx, clusterPatience)
	defer cancel()
	real, release, err := slurmtest.TakeReal(waiting)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	c := &cluster{real: real, queue: slurm.New(slurm.Options{Executor: real.User()})}
	if c.dir, err = real.MakeDir(userDir); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
		defer cancel()
		err = errors.Join(err, c.clear(ctx), endDaemon(c.home()), os.RemoveAll(c.dir))
	}()
	if err := errors.Join(c.clear(ctx), c.sweep(), c.install(b.binary)); err != nil {
		return err
	}
	return run(ctx, c)
}

// userDir is the prefix of the names of the user's folders.
const userDir = "bench-"

// sweep removes what killed runs have left.
func (c *cluster) sweep() error {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(c.dir), userDir+"*"))
	for _, dir := range left {
		if dir != c.dir {
			err = errors.Join(err, endDaemon(filepath.Join(dir, "home")), os.RemoveAll(dir))
		}
	}
	return err
}

// install gives the user the program and the scripts of the jobs.
func (c *cluster) install(binary string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"torc-slurm": program, "second.sh": []byte(secondScript), "minute.sh": []byte(minuteScript), "once.sh": []byte(onceScript)} {
		if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// clear ends all jobs of the cluster's user.
func (c *cluster) clear(ctx context.Context) error {
	if out, err := c.real.Root().Run(ctx, slurm.Command{Program: slurm.Scancel, Args: []string{"--user=" + slurmtest.TestUser}}); err != nil || out.ExitCode != 0 {
		return fmt.Errorf("cancel the jobs on the test cluster: %s %w", out.Stderr, err)
	}
	_, err := c.released(ctx)
	return err
}

// released waits until all jobs of the user that are still in the queue have ended, and
// returns the time.
func (c *cluster) released(ctx context.Context) (time.Time, error) {
	for {
		queue, err := c.queue.Queue(ctx, slurm.QueueQuery{User: slurmtest.TestUser})
		if err != nil {
			return time.Time{}, err
		}
		if !slices.ContainsFunc(queue.Jobs, func(j slurm.Job) bool { return !j.State.Over() }) {
			return time.Now(), nil
		}
		if err := pause(ctx, clusterLook); err != nil {
			return time.Time{}, err
		}
	}
}

// home returns the home directory of the user's daemon.
func (c *cluster) home() string { return filepath.Join(c.dir, "home") }

// run runs a command as the user in their folder.
func (c *cluster) run(ctx context.Context, argv ...string) error {
	out, err := c.real.User().Run(ctx, slurm.Command{
		Program: argv[0], Args: argv[1:], Dir: c.dir,
		Env: append([]string{"HOME=" + c.dir, "TORC_HOME=" + c.home(), "TMPDIR=" + c.dir}, c.env...),
	})
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("exit status %d", out.ExitCode)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, tail(string(out.Stderr)))
	}
	return nil
}

// submit has torc-slurm submit a specification.
func (c *cluster) submit(ctx context.Context, name, spec string) error {
	path := filepath.Join(c.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(spec), 0o644); err != nil {
		return err
	}
	return c.run(ctx, filepath.Join(c.dir, "torc-slurm"), "submit", "--output-dir", filepath.Join(c.dir, name), path)
}

// stampFile returns the file in which the jobs of one run record their times.
func (c *cluster) stampFile() string {
	c.files++
	return filepath.Join(c.dir, fmt.Sprintf("stamps%d", c.files))
}

// stamps waits until a file has n lines, and returns the numbers in each.
func stamps(ctx context.Context, path string, n int) ([][]float64, error) {
	for {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if bytes.Count(text, []byte{'\n'}) >= n {
			return parseStamps(string(text))
		}
		if err := pause(ctx, clusterLook); err != nil {
			return nil, err
		}
	}
}

func parseStamps(text string) (lines [][]float64, err error) {
	for line := range strings.Lines(text) {
		var numbers []float64
		for word := range strings.FieldsSeq(line) {
			number, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return nil, fmt.Errorf("stamps of a job: %w", err)
			}
			numbers = append(numbers, number)
		}
		lines = append(lines, numbers)
	}
	return lines, nil
}
