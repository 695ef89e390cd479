package sbatchtemplates

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// minimal is the least that makes a script.
func minimal() Request {
	return Request{JobName: "torc:sweep.1.r1.0123abcd", Dir: "/scratch/me", Runner: []string{"/opt/torc-slurm", "runner"}}
}

func TestGolden(t *testing.T) {
	single := minimal()
	single.Account, single.Partition, single.QOS = "proj", "standard", "high"
	single.Nodes, single.NTasksPerNode, single.CPUsPerTask = 1, 1, 104
	single.Mem, single.GRES, single.Tmp, single.Walltime = "240000M", "gpu:h100:4", "100G", 26*time.Hour+30*time.Minute
	single.Exclude, single.After = []string{"x1004c0s2b0", "x1004c0s3b0"}, "4711"
	single.Comment = `120/500 done, "3" failed; #1`
	single.SignalLead = 4 * time.Minute
	single.Output, single.Error = OutputFiles("/scratch/me/100% mine", 12)
	single.Env = map[string]string{"TORC_OUTPUT_DIR": "/scratch/me/out put", "A": "it's"}
	single.Runner = append(single.Runner, "--secret-file", "/home/me/.local/state/torc slurm/$(id)", "", "a\nb")

	perNode := minimal()
	perNode.Nodes, perNode.Walltime, perNode.SignalLead = 4, 4*time.Hour, 2*time.Minute
	perNode.OneRunnerPerNode, perNode.SrunMPI, perNode.Exclusive, perNode.Requeue = true, "pmi2", true, true
	perNode.Signal = "USR2"

	user := minimal()
	user.Account = "proj"
	user.Output, user.Error = OutputFiles("/scratch/me", 12)
	user.SignalLead = time.Minute
	var err error
	user.Defaults, err = ParseDefaults([]byte(`{"account":"other","mail_type":"END","requeue":true,"exclusive":true,"hold":false,"nice":10,"output":"/dev/null","constraint":"a&b # c"}`))
	if err != nil {
		t.Fatal(err)
	}
	user.Extra = "--job-name=mine --reservation=maint --mail-user=\"me\"\n\n  --licenses=a:2  \n"

	for name, r := range map[string]Request{"minimal": minimal(), "single": single, "per-node": perNode, "user": user} {
		t.Run(name, func(t *testing.T) {
			got, err := Render(r)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", name+".sbatch"), string(got))
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(r *Request)
		want   string
	}{
		"job name":       {func(r *Request) { r.JobName = "a b" }, "not a valid name of a Slurm job"},
		"job name, long": {func(r *Request) { r.JobName = strings.Repeat("a", 65) }, "not a valid name of a Slurm job"},
		"line break":     {func(r *Request) { r.Partition = "a\n#SBATCH --qos=high" }, "line break"},
		"not UTF-8":      {func(r *Request) { r.Account = "a\xff" }, "UTF-8"},
		"too long":       {func(r *Request) { r.Comment = strings.Repeat("a", 5000) }, "more than 4096"},
		"extra array":    {func(r *Request) { r.Extra = "--array=1-100" }, "--array is not allowed in extra"},
		"extra -a":       {func(r *Request) { r.Extra = "--nice -a1-9" }, "--array is not allowed in extra"},
		"extra quote":    {func(r *Request) { r.Extra = `--comment="a` }, "unclosed quote"},
		"extra control":  {func(r *Request) { r.Extra = "--nice\r--hold" }, "control character"},
		"defaults name":  {func(r *Request) { r.Defaults = []Option{{Name: "-n 3"}} }, "not the name of an sbatch option"},
		"defaults array": {func(r *Request) { r.Defaults = []Option{{Name: "array"}} }, "is not allowed in slurm_defaults"},
		"dependencies": {func(r *Request) {
			r.After, r.Defaults = "1", []Option{{Name: "dependency", Value: "after:2"}}
		}, "serialize_allocations"},
		"output":   {func(r *Request) { r.Output = `/home/ann/a\b/%j.o` }, "removes backslashes"},
		"variable": {func(r *Request) { r.Env = map[string]string{"A;B": ""} }, "not a valid name of a variable"},
		"NUL":      {func(r *Request) { r.Runner = []string{"a\x00b"} }, "not possible in a batch script"},
	} {
		t.Run(name, func(t *testing.T) {
			r := minimal()
			tc.change(&r)
			got, err := Render(r)
			if err == nil {
				t.Fatalf("no error:\n%s", got)
			}
			if workflow.CodeOf(err) != workflow.CodeInvalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q (%s), want %q", err, workflow.CodeOf(err), tc.want)
			}
		})
	}
}

// TestNothingBreaksOut renders requests full of hostile values, and has bash run the
// scripts: the runner gets its arguments and variables unchanged, and every directive is
// read as the option that it was.
func TestNothingBreaksOut(t *testing.T) {
	dir := t.TempDir()
	runner := filepath.Join(dir, "runner's $(exit 3)")
	record := filepath.Join(dir, "record")
	stub := "#!/bin/bash\nprintf '%s\\0' \"$PWD\" \"$HOSTILE\" \"$@\" >" + record + "\n"
	for path, text := range map[string]string{runner: stub, filepath.Join(dir, "srun"): "#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec \"$@\"\n"} {
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	text := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("\"'\\`$#()&;|<>!*?[]{}~%= \t-aA1é")), rapid.Rune())).
		Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
	value := text.Filter(func(s string) bool { return s != "" && checkText("x", s) == nil })
	rapid.Check(t, func(t *rapid.T) {
		r := minimal()
		r.Dir = dir
		r.Account, r.Partition, r.Comment = value.Draw(t, "account"), value.Draw(t, "partition"), value.Draw(t, "comment")
		r.Defaults = []Option{{Name: "constraint", Value: value.Draw(t, "constraint")}}
		r.OneRunnerPerNode = rapid.Bool().Draw(t, "per node")
		args := rapid.SliceOfN(text, 0, 4).Draw(t, "args")
		args = append(args, "line\nbreak\n#SBATCH --nice")
		r.Runner = append([]string{runner}, args...)
		hostile := text.Draw(t, "variable")
		r.Env = map[string]string{"HOSTILE": hostile, "PATH": dir + ":" + os.Getenv("PATH")}
		script, err := Render(r)
		if err != nil {
			t.Fatal(err)
		}
		checkDirectives(t, string(script), r)
		checkRun(t, script, record, append([]string{dir, hostile}, args...))
	})
}

// checkDirectives reads the directives of a script as sbatch does: up to the
// first line that is neither empty nor a comment.
func checkDirectives(t *rapid.T, script string, r Request) {
	var got []string
	for line := range strings.Lines(script) {
		if rest, ok := strings.CutPrefix(line, "#SBATCH"); ok {
			args, ok := split(strings.TrimSuffix(rest, "\n"))
			if !ok || len(args) != 1 {
				t.Fatalf("%q is %q", line, args)
			}
			got = append(got, args...)
		} else if line != "\n" && line[0] != '#' {
			break
		}
	}
	want := []string{"--account=" + r.Account, "--partition=" + r.Partition, "--constraint=" + r.Defaults[0].Value, "--chdir=" + r.Dir,
		"--open-mode=append", "--no-requeue", "--comment=" + r.Comment, "--job-name=" + r.JobName}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("directives -want +got:\n%s", diff)
	}
}

// checkRun runs a script and compares what the runner has recorded.
func checkRun(t *rapid.T, script []byte, record string, want []string) {
	cmd := exec.Command("bash")
	cmd.Stdin = bytes.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, script)
	}
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want +got:\n%s\n%s", diff, script)
	}
}

// TestDirectoryMustBeThere: a runner in the wrong folder would find nothing.
func TestDirectoryMustBeThere(t *testing.T) {
	r := minimal()
	r.Dir, r.Runner = filepath.Join(t.TempDir(), "gone"), []string{"true"}
	script, err := Render(r)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash")
	cmd.Stdin = bytes.NewReader(script)
	if err := cmd.Run(); err == nil {
		t.Error("the script went on in another directory")
	}
}
