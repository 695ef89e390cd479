package runner

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// cpuTime returns the CPU time of this process and its children.
func cpuTime() time.Duration {
	var total time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}

// reportRates adds jobs per second and CPU per job to a benchmark's result.
func reportRates(b *testing.B, cpu time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/job")
}

// BenchmarkBareSpawner is what the machine can do: two goroutines that start the command
// and wait for it, without and with two new files each.
func BenchmarkBareSpawner(b *testing.B) {
	b.Run("process", func(b *testing.B) { benchmarkBare(b, false) })
	b.Run("process-files", func(b *testing.B) { benchmarkBare(b, true) })
}

func benchmarkBare(b *testing.B, files bool) {
	dir := b.TempDir()
	before := cpuTime()
	var wg sync.WaitGroup
	next := make(chan int, b.N)
	for i := range b.N {
		next <- i
	}
	close(next)
	b.ResetTimer()
	for range 2 {
		wg.Go(func() {
			for i := range next {
				if err := spawnBare(dir, i, files); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	reportRates(b, cpuTime()-before)
}

func spawnBare(dir string, i int, files bool) error {
	cmd := exec.Command("bash", "-c", "/bin/true")
	if files {
		for ending, stream := range map[string]*io.Writer{".o": &cmd.Stdout, ".e": &cmd.Stderr} {
			f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)+ending))
			if err != nil {
				return err
			}
			defer f.Close()
			*stream = f
		}
	}
	return cmd.Run()
}

func BenchmarkRunner(b *testing.B) {
	none := &workflow.StdioConfig{Mode: workflow.StdioNone}
	b.Run("process", func(b *testing.B) { benchmarkRunner(b, 2, none, nil, false) })
	b.Run("process-http", func(b *testing.B) { benchmarkRunner(b, 2, none, nil, true) })
	b.Run("process-files", func(b *testing.B) { benchmarkRunner(b, 2, nil, nil, false) })
	b.Run("null", func(b *testing.B) { benchmarkRunner(b, 1000, none, nullExecutor{}, false) })
	b.Run("null-http", func(b *testing.B) { benchmarkRunner(b, 1000, none, nullExecutor{}, true) })
}

func benchmarkRunner(b *testing.B, slots int64, stdio *workflow.StdioConfig, executor process.Executor, overHTTP bool) {
	jobs := make([]runnertest.Job, b.N)
	for i := range jobs {
		jobs[i] = runnertest.Job{Grant: lease.Grant{Command: "/bin/true", Stdio: stdio}}
	}
	d := runnertest.New(jobs...)
	o := testOptions(b, d)
	o.MaxParallelJobs, o.Executor = slots, executor
	if overHTTP {
		o.Client = httpClient(b, serveHTTP(b, d)).Runners
	}
	before := cpuTime()
	b.ResetTimer()
	s := run(b, o)
	b.StopTimer()
	reportRates(b, cpuTime()-before)
	b.ReportMetric(float64(d.Calls())/float64(b.N), "turns/job")
	if s.ByStatus[workflow.Completed] != int64(b.N) {
		b.Errorf("summary %+v", s)
	}
}

// BenchmarkChain measures one hop: from the end of a job to the end of the job
// that waited for it.
func BenchmarkChain(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for i := range b.N {
			if err := spawnBare("", i, false); err != nil {
				b.Error(err)
			}
		}
	})
	b.Run("runner", func(b *testing.B) { benchmarkChain(b, false) })
	b.Run("runner-http", func(b *testing.B) { benchmarkChain(b, true) })
}

func benchmarkChain(b *testing.B, overHTTP bool) {
	jobs := make([]runnertest.Job, b.N)
	for i := range jobs {
		jobs[i] = runnertest.Job{Grant: lease.Grant{Command: "/bin/true"}}
		jobs[i].Stdio = &workflow.StdioConfig{Mode: workflow.StdioNone}
		if i > 0 {
			jobs[i].After = []int64{int64(i)}
		}
	}
	d := runnertest.New(jobs...)
	o := testOptions(b, d)
	if overHTTP {
		o.Client = httpClient(b, serveHTTP(b, d)).Runners
	}
	b.ResetTimer()
	run(b, o)
	b.ReportMetric(float64(d.Calls())/float64(b.N), "turns/job")
}

// nullExecutor ends every command at once and successfully, without a process.
type nullExecutor struct{}

// Start calls exited before it returns.
func (nullExecutor) Start(_ *process.Command, exited func(process.Exit)) (int, error) {
	exited(process.Exit{At: time.Now()})
	return 0, nil
}
