package outputdir

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/runner"
)

func TestMakeFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(file, "out")
	for name, err := range map[string]error{"Make": Make(path), "RunnerLog": func() error { _, err := RunnerLog(path, "n1", 1, 1); return err }()} {
		message, hint := cli.ErrorText(err)
		want := "cannot write to the output directory " + path + ": mkdir " + file + ": not a directory"
		if message != want || hint != "choose another one with --output-dir" || cli.ExitStatus(err) != cli.ExitRefused {
			t.Errorf("%s: %q, hint %q, status %d; want %q", name, message, hint, cli.ExitStatus(err), want)
		}
	}
	if err := Make(filepath.Join(dir, "a", "b")); err != nil {
		t.Errorf("a folder below one that is not there: %v", err)
	}
}

func TestRunnerLogIsAppendedTo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	for _, line := range []string{"first\n", "second\n"} {
		f, err := RunnerLog(dir, "n1", 12, 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "job_runner_n1_wf12_r3.log"))
	if err != nil || string(text) != "first\nsecond\n" {
		t.Errorf("the log has %q, %v", text, err)
	}
}

// TestLogIsRestored: after the output directory was removed, the log goes on in a
// new one, once what the runner did before is done again.
func TestLogIsRestored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	var refusal error
	o := runner.Options{RestoreOutput: func() error {
		if refusal != nil {
			return refusal
		}
		return os.Mkdir(dir, 0o700)
	}}
	l, err := OpenLog(&o, func() (*os.File, error) { return RunnerLog(dir, "n1", 1, 1) })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	write := func(text string) {
		t.Helper()
		if _, err := io.WriteString(l, text); err != nil {
			t.Fatal(err)
		}
	}
	write("lost\n")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	refusal = errors.New("disk full")
	if err := o.RestoreOutput(); !errors.Is(err, refusal) {
		t.Errorf("restored in spite of: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log made the folder that its runner could not make: %v", err)
	}
	refusal = nil
	if err := o.RestoreOutput(); err != nil {
		t.Fatal(err)
	}
	write("kept\n")
	if text, err := os.ReadFile(l.Name()); err != nil || string(text) != "kept\n" {
		t.Errorf("the new log has %q, %v", text, err)
	}
}

// TestClaimFor: a second database that wants a directory in use gets a folder of its
// own, and is told so.
func TestClaimFor(t *testing.T) {
	var stderr strings.Builder
	a := &cli.Factory{Environment: cli.Environment{Stderr: &stderr}, Log: slog.New(slog.DiscardHandler)}
	root := filepath.Join(t.TempDir(), "out")
	first := runner.Options{OutputDir: root}
	release, err := ClaimFor(a, "AAAAAAAAAAAA", &first)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if first.OutputDir != root || first.Database != "AAAAAAAAAAAA" || stderr.Len() > 0 {
		t.Errorf("the first has %s of %s and was told %q", first.OutputDir, first.Database, &stderr)
	}
	if err := first.RestoreOutput(); err != nil {
		t.Errorf("restore: %v", err)
	}
	second := runner.Options{OutputDir: root}
	releaseSecond, err := ClaimFor(a, "BBBBBBBBBBBB", &second)
	if err != nil {
		t.Fatal(err)
	}
	defer releaseSecond()
	if want := filepath.Join(root, "db-bbbbbbbb"); second.OutputDir != want || !strings.Contains(stderr.String(), "db-bbbbbbbb") {
		t.Errorf("the second has %s, want %s, and was told %q", second.OutputDir, want, &stderr)
	}
}

func TestSkipAside(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"job_stdio/a.out", "db-0a1b2c3d/b.out", "x/db-0a1b2c3d/c.out"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			found = append(found, strings.TrimPrefix(path, root+"/"))
		}
		return SkipAside(root+"/", path, entry)
	})
	if diff := cmp.Diff([]string{"job_stdio/a.out", "x/db-0a1b2c3d/c.out"}, found); diff != "" || err != nil {
		t.Errorf("error %v, files (-want +got):\n%s", err, diff)
	}
}
