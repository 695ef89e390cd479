package sbatchtemplates

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// stubRunner records its arguments, starts a job in a session of its own, and exits when
// it is told of the end. So does the job.
const stubRunner = `#!/bin/bash
id=$SLURM_JOB_ID
printf '%s\0' "$PWD" "$HOSTILE" "$@" >args.$id
trap 'echo runner >>told.$id; exit 0' TERM
setsid bash -c 'trap "echo job >>told.$1; exit" TERM; while sleep 0.2; do :; done' - $id &
while sleep 0.2; do :; done
`

// TestRealSlurm: Slurm reads what was meant, and the runner, and nothing but the runner,
// is told of the end in time, with srun between and without.
func TestRealSlurm(t *testing.T) {
	real := slurmtest.UseReal(t)
	client := slurm.New(slurm.Options{Executor: real.User()})
	dir := real.Dir(t)
	// The name of the program itself must be plain: a slurmstepd that signals a step
	// skips processes with a blank in their names.
	runner := filepath.Join(dir, "it's $(exit 3)", "runner")
	if err := os.Mkdir(filepath.Dir(runner), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(runner, []byte(stubRunner), 0o755); err != nil {
		t.Fatal(err)
	}
	hostile := []string{`a "b" 'c' \ $HOME #d`, "", "line\nbreak\n#SBATCH --nice"}
	jobs := make(map[slurm.JobID]Request)
	for i, perNode := range []bool{false, true} {
		r := Request{
			JobName: JobName(`all "sorts" of #names`, int64(i+1), 1, "0123abcd89ef0123"), Dir: dir, Partition: "debug",
			Nodes: 1, NTasksPerNode: 1, CPUsPerTask: 1, Mem: "100M", Walltime: time.Minute, SignalLead: 55 * time.Second,
			Comment: `0/500 done, "3" failed; #1 \ it's $HOME`, Env: map[string]string{"HOSTILE": hostile[0]},
			Defaults: []Option{{Name: "nice", Value: "3"}}, Extra: "--nodelist=n1 # the quiet one",
			Runner: append([]string{runner}, hostile...), OneRunnerPerNode: perNode,
		}
		r.Output, r.Error = OutputFiles(dir, int64(i+1))
		script, err := Render(r)
		if err != nil {
			t.Fatal(err)
		}
		submitted, err := client.Submit(t.Context(), slurm.Submission{Script: script, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		jobs[submitted.ID] = r
	}
	for id, r := range jobs {
		detail, found, err := client.ShowJob(t.Context(), id)
		if err != nil || !found {
			t.Fatalf("job %v: found %t, %v", id, found, err)
		}
		got := []string{detail.Name, detail.Comment, detail.WorkDir, detail.StdOut, fmt.Sprint(detail.Requeue), detail.Values["Nice"]}
		want := []string{r.JobName, r.Comment, dir, strings.Replace(r.Output, "%j", fmt.Sprint(id), 1), "false", "3"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("job %v -want +got:\n%s", id, diff)
		}
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.*"))
		for _, name := range files {
			text, _ := os.ReadFile(name)
			t.Logf("%s: %q", filepath.Base(name), text)
		}
	})
	for id, r := range jobs {
		told := filepath.Join(dir, fmt.Sprint("told.", id))
		slurmtest.Eventually(t, 2*time.Minute, r.signal()+" is sent", func() bool { text, _ := os.ReadFile(told); return len(text) > 0 })
		slurmtest.Eventually(t, time.Minute, "the job is over", func() bool {
			detail, found, err := client.ShowJob(t.Context(), id)
			return err == nil && (!found || detail.State.Over())
		})
		if text, _ := os.ReadFile(told); string(text) != "runner\n" {
			t.Errorf("%s reached %q", r.signal(), text)
		}
		text, _ := os.ReadFile(filepath.Join(dir, fmt.Sprint("args.", id)))
		want := strings.Join(append([]string{dir, hostile[0]}, hostile...), "\x00") + "\x00"
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("%s -want +got:\n%s", r.signal(), diff)
		}
	}
}
