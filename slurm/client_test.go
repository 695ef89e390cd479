package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// stub is an executor that always gives the same answer.
type stub struct {
	out      Output
	err      error
	commands []Command
}

func (s *stub) Run(_ context.Context, cmd Command) (Output, error) {
	s.commands = append(s.commands, cmd)
	return s.out, s.err
}

func TestSubmit(t *testing.T) {
	s := &stub{out: Output{Stdout: []byte("77;hpc\n")}}
	job, err := New(Options{Executor: s}).Submit(t.Context(), Submission{
		Script: []byte("#!/bin/sh\n"), Dir: "/work", Args: []string{"--hold"}, Env: []string{"A=b"},
	})
	if err != nil || job.ID.Number != 77 || job.Cluster != "hpc" {
		t.Fatalf("%+v, %v", job, err)
	}
	cmd := s.commands[0]
	if !slices.Equal(cmd.Env, []string{"A=b"}) {
		t.Errorf("the job would inherit %q", cmd.Env)
	}
	if cmd.Dir != "/work" || string(cmd.Stdin) != "#!/bin/sh\n" || !slices.Equal(cmd.Args, []string{"--parsable", "--hold"}) {
		t.Errorf("command %+v", cmd)
	}
	if _, err := New(Options{Executor: s}).Submit(t.Context(), Submission{Path: "/work/a.sh"}); err != nil {
		t.Fatal(err)
	}
	if cmd := s.commands[1]; cmd.Stdin != nil || !slices.Equal(cmd.Args, []string{"--parsable", "/work/a.sh"}) {
		t.Errorf("command %+v", cmd)
	}
}

func TestQuestionsHaveAFixedEnvironment(t *testing.T) {
	s := &stub{}
	if _, err := New(Options{Executor: s}).Queue(t.Context(), QueueQuery{User: "me", IDs: []JobID{{Number: 1}, {Number: 2}}}); err == nil {
		t.Error("an empty answer is no answer")
	}
	for _, want := range []string{"LC_ALL=C", "SLURM_TIME_FORMAT=%s"} {
		if !slices.Contains(s.commands[0].Env, want) {
			t.Errorf("%s is missing in %q", want, s.commands[0].Env)
		}
	}
	for _, want := range []string{"--user=me", "--jobs=1,2", "--states=all", "--local"} {
		if !slices.Contains(s.commands[0].Args, want) {
			t.Errorf("%s is missing in %q", want, s.commands[0].Args)
		}
	}
}

// In a federation the other clusters are not queried.
func TestQuestionsStayAtHome(t *testing.T) {
	s := &stub{}
	c := New(Options{Executor: s})
	_, _ = c.Queue(t.Context(), QueueQuery{})
	_, _ = c.Accounting(t.Context(), AccountingQuery{})
	_, _ = c.Nodes(t.Context())
	_, _ = c.Partitions(t.Context())
	_, _ = c.NodeRecords(t.Context())
	_, _ = c.NodeLoads(t.Context())
	_, _ = c.Reservations(t.Context())
	_, _ = c.NodeAddress(t.Context(), "n1")
	_, _, _ = c.ShowJob(t.Context(), JobID{Number: 1})
	if len(s.commands) != 9 {
		t.Errorf("%d calls", len(s.commands))
	}
	for _, cmd := range s.commands {
		if !slices.Contains(cmd.Args, "--local") {
			t.Errorf("%s %q", cmd.Program, cmd.Args)
		}
	}
}

func TestParseSubmitted(t *testing.T) {
	for text, want := range map[string]Submitted{
		"123\n":                                 {ID: JobID{Number: 123}},
		"123;hpc\n":                             {ID: JobID{Number: 123}, Cluster: "hpc"},
		"Welcome!\n\n123\n":                     {ID: JobID{Number: 123}},
		"Submitted batch job 9\n":               {ID: JobID{Number: 9}},
		"Submitted batch job 9 on cluster c2\n": {ID: JobID{Number: 9}, Cluster: "c2"},
		"12":                                    {}, // of 123, the rest was cut off
		"":                                      {},
		"ok\n":                                  {},
		"0\n":                                   {},
	} {
		got, err := parseSubmitted([]byte(text))
		if got != want || (err == nil) != (want != Submitted{}) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

// TestNoAnswerIsNoInformation: whatever is wrong with the output of a query, it is never
// taken for an answer.
func TestNoAnswerIsNoInformation(t *testing.T) {
	heading := strings.Repeat("X"+fieldSeparator, len(queueFields)-1) + "X\n"
	for name, s := range map[string]*stub{
		"fails":            {out: Output{Stderr: []byte("squeue: error: the moon is full"), ExitCode: 1}},
		"denied":           {out: Output{Stderr: []byte("slurm_load_jobs error: Socket timed out on send/recv operation"), ExitCode: 1}},
		"is missing":       {err: errors.New("no such file")},
		"timed out":        {err: context.DeadlineExceeded},
		"empty":            {},
		"garbage":          {out: Output{Stdout: []byte("<html>proxy</html>\n")}},
		"cut":              {out: Output{Stdout: []byte(heading + "12" + fieldSeparator)}},
		"truncated header": {out: Output{Stdout: []byte(heading[:10])}},
		"invalid rows":     {out: Output{Stdout: []byte(heading + heading)}},
		"half a row":       {out: Output{Stdout: []byte(heading + "12" + fieldSeparator + "\n")}},
	} {
		if queue, err := New(Options{Executor: s}).Queue(t.Context(), QueueQuery{}); ClassOf(err) != Unavailable {
			t.Errorf("squeue %s: %+v, %v", name, queue, err)
		}
		if look, err := New(Options{Executor: s}).Accounting(t.Context(), AccountingQuery{}); ClassOf(err) != Unavailable {
			t.Errorf("sacct %s: %+v, %v", name, look, err)
		}
		if _, found, err := New(Options{Executor: s}).ShowJob(t.Context(), JobID{Number: 1}); found || ClassOf(err) != Unavailable {
			t.Errorf("scontrol %s: %v, %v", name, found, err)
		}
	}
	empty := &stub{out: Output{Stdout: []byte(heading)}}
	if queue, err := New(Options{Executor: empty}).Queue(t.Context(), QueueQuery{}); err != nil || len(queue.Jobs) != 0 {
		t.Errorf("a header alone means that there are no jobs: %+v, %v", queue, err)
	}
}

func TestTimeouts(t *testing.T) {
	slow := executorFunc(func(ctx context.Context, _ Command) (Output, error) {
		<-ctx.Done()
		return Output{}, ctx.Err()
	})
	c := New(Options{Executor: slow, Timeouts: map[string]time.Duration{Sbatch: time.Millisecond, Squeue: time.Millisecond}})
	if _, err := c.Submit(t.Context(), Submission{}); ClassOf(err) != Ambiguous || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("submit: %v", err)
	}
	if _, err := c.Queue(t.Context(), QueueQuery{}); ClassOf(err) != Unavailable {
		t.Errorf("queue: %v", err)
	}
	calls := c.Calls()
	if calls[Sbatch].TimedOut != 1 || calls[Squeue].Failed != 1 || calls[Squeue].Total != 1 {
		t.Errorf("calls: %+v", calls)
	}
}

type executorFunc func(context.Context, Command) (Output, error)

func (f executorFunc) Run(ctx context.Context, cmd Command) (Output, error) { return f(ctx, cmd) }

func TestBudget(t *testing.T) {
	now := time.Unix(0, 0)
	s := &stub{out: Output{Stdout: []byte("1\n")}}
	c := New(Options{Executor: s, Budget: 4, Now: func() time.Time { return now }})
	comment := func() error { return c.SetComment(t.Context(), JobID{Number: 1}, "x") }
	if c.Spare() != 2 || comment() != nil || comment() != nil {
		t.Error("half of the budget is for optional calls")
	}
	if c.Spare() != 0 || ClassOf(comment()) != Withheld {
		t.Error("the other half is not")
	}
	if _, err := c.Config(t.Context()); ClassOf(err) != Unavailable { // called, and the answer is garbage
		t.Errorf("a query: %v", err)
	}
	if _, err := c.Config(t.Context()); ClassOf(err) != Unavailable {
		t.Errorf("a query: %v", err)
	}
	if _, err := c.Config(t.Context()); ClassOf(err) != Withheld {
		t.Errorf("one query too many: %v", err)
	}
	if _, err := c.Submit(t.Context(), Submission{}); err != nil {
		t.Errorf("a submission is never withheld: %v", err)
	}
	if err := c.Cancel(t.Context(), JobID{Number: 1}); err != nil {
		t.Errorf("nor is a cancellation: %v", err)
	}
	if calls := c.Calls()[Scontrol]; calls.Total != 4 || calls.Withheld != 2 {
		t.Errorf("calls: %+v", calls)
	}
	now = now.Add(time.Minute)
	if c.Spare() != 2 || comment() != nil {
		t.Error("after a minute there is a new budget")
	}
	if unlimited := New(Options{}).Spare(); unlimited < 1000 {
		t.Errorf("without a budget %d", unlimited)
	}
}

func TestCancelOfWhatIsGone(t *testing.T) {
	s := &stub{out: Output{Stderr: []byte("scancel: error: Kill job error on job id 5: Invalid job id specified\n"), ExitCode: 1}}
	c := New(Options{Executor: s})
	if err := c.Cancel(t.Context(), JobID{Number: 5}); err != nil {
		t.Error(err)
	}
	if err := c.Cancel(t.Context()); err != nil || len(s.commands) != 1 {
		t.Errorf("nothing to cancel is no call: %v", err)
	}
	s.out.Stderr = []byte("scancel: error: Kill job error on job id 5: Access/permission denied\n")
	if err := c.Cancel(t.Context(), JobID{Number: 5}); ClassOf(err) != Permanent {
		t.Error(err)
	}
}

func TestOwnEnvironment(t *testing.T) {
	got := ownEnvironment([]string{
		"HOME=/h", "SLURM_JOB_ID=1", "SLURM_CONF=/c", "SLURM_CLUSTERS=other", "SQUEUE_FORMAT=%i", "SBATCH_WAIT=1", "SBATCH_JOB_NAME=a",
		"SBATCH_TIMELIMIT=1", "SBATCH_CLUSTERS=other", "SBATCH_ARRAY_INX=1-3", "SACCT_FORMAT=x", "SACCTMGR_TIMEOUT=1", "SBATCHING=1",
	})
	if want := []string{"HOME=/h", "SLURM_CONF=/c", "SBATCHING=1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSrunArgs(t *testing.T) {
	step := Step{
		Job: JobID{Number: 7}, Name: "wf1_j2_r3_a1", Node: "n2", CPUsPerTask: 2, Memory: 100 * MiB, GPUs: 1,
		TimeLimit: 150 * time.Second, Signal: "TERM@120", NoCPUBind: true, Program: []string{"bash", "-c", "true"},
	}
	want := "--jobid=7 --ntasks=1 --cpu-bind=none --exact --job-name=wf1_j2_r3_a1 --nodelist=n2 --nodes=1 " +
		"--cpus-per-task=2 --mem=100M --gpus=1 --time=2 --signal=TERM@120 bash -c true"
	if got := strings.Join(SrunArgs(step), " "); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := strings.Join(SrunArgs(Step{Job: JobID{Number: 7}, Name: "x", Nodes: 2}), " "); got != "--jobid=7 --ntasks=1 --exact --job-name=x --nodes=2" {
		t.Error(got)
	}
}

func TestFakePaths(t *testing.T) {
	paths := FakePaths(func(name string) string {
		if name == "TORC_FAKE_SBATCH" {
			return "/fake/sbatch"
		}
		return ""
	})
	x := &OS{Paths: paths}
	if x.Path(Sbatch) != "/fake/sbatch" || x.Path(Squeue) != Squeue {
		t.Errorf("%v", paths)
	}
}
