package specfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/spec"
)

// factoryFor is a factory in a folder of its own.
func factoryFor(t *testing.T, stdin io.Reader) (*cli.Factory, *strings.Builder) {
	t.Helper()
	stderr := &strings.Builder{}
	a := cli.New(cli.Environment{
		Args: []string{"torc-slurm"}, Environ: []string{"USER=ann"}, Dir: t.TempDir(), Stdin: stdin, Stdout: io.Discard, Stderr: stderr, StopSignals: func() {},
	}, nil)
	t.Cleanup(a.StopSignals)
	return a, stderr
}

func TestReadCommands(t *testing.T) {
	const text = "# two jobs\necho a\n\n  echo b # not a comment of ours  \r\n\t\n  # indented\necho c"
	want := []string{"echo a", "echo b # not a comment of ours", "echo c"}
	a, _ := factoryFor(t, strings.NewReader(text))
	if err := os.WriteFile(filepath.Join(a.Dir, "commands.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"commands.txt", "-"} {
		got, err := ReadCommands(a, name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, commands (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := ReadCommands(a, "missing.txt"); cli.ExitStatus(err) != cli.ExitUsage || !strings.Contains(err.Error(), "missing.txt") {
		t.Errorf("a file that is not there: %v", err)
	}
	broken := errors.New("pipe broken")
	a, _ = factoryFor(t, io.MultiReader(strings.NewReader("echo a\n"), iotest.ErrReader(broken)))
	if got, err := ReadCommands(a, "-"); got != nil || !errors.Is(err, broken) {
		t.Errorf("half an input: %q, %v", got, err)
	}
}

func TestConfirmWarnings(t *testing.T) {
	harmless := &spec.Warning{Error: spec.Error{Message: "a name twice"}}
	serious := &spec.Warning{Error: spec.Error{Message: "too large"}, NeedsConfirmation: true}
	const question = "Create the workflow anyway? [y/N] "
	for _, tt := range []struct {
		name     string
		warnings []*spec.Warning
		stdin    string
		terminal bool
		format   string
		status   int
		err      string
		stderr   string
	}{
		{name: "none"},
		{name: "harmless", warnings: []*spec.Warning{harmless}, terminal: true},
		{name: "yes", warnings: []*spec.Warning{harmless, serious}, terminal: true, stdin: "y\n", stderr: question},
		{name: "no", warnings: []*spec.Warning{serious}, terminal: true, stdin: "n\n", status: cli.ExitInvalidSpec, err: "exit status 6", stderr: question + "Nothing was done.\n"},
		{name: "nobody to ask", warnings: []*spec.Warning{serious}, stdin: "y\n", status: cli.ExitInvalidSpec, err: "the workflow probably cannot do its work"},
		{name: "JSON", warnings: []*spec.Warning{serious}, terminal: true, stdin: "y\n", format: cli.FormatJSON, status: cli.ExitInvalidSpec, err: "the workflow probably cannot do its work"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, stderr := factoryFor(t, strings.NewReader(tt.stdin))
			a.StdinTerminal, a.Format = tt.terminal, cli.FirstOf(tt.format, cli.FormatTable)
			err := ConfirmWarnings(a, tt.warnings)
			if message, _ := errorText(err); cli.ExitStatus(err) != tt.status || message != tt.err {
				t.Errorf("%v, want %q with status %d", err, tt.err, tt.status)
			}
			if stderr.String() != tt.stderr {
				t.Errorf("wrote %q, want %q", stderr, tt.stderr)
			}
		})
	}
}

func errorText(err error) (message, hint string) {
	if err == nil {
		return "", ""
	}
	return cli.ErrorText(err)
}

func TestIsSpec(t *testing.T) {
	a, _ := factoryFor(t, nil)
	if err := os.WriteFile(filepath.Join(a.Dir, "12"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]bool{"-": true, "x.yaml": true, "X.YML": true, "a/b.kdl": true, "12": true, "13": false, "x.txt": false} {
		if got := IsSpec(a, arg); got != want {
			t.Errorf("%s is a specification: %v, want %v", arg, got, want)
		}
	}
}

func TestLoad(t *testing.T) {
	a, stderr := factoryFor(t, strings.NewReader("name: w\njobs:\n  - name: a\n    command: echo a\n"))
	loaded, err := Load(a, "-", Flags{})
	if err != nil {
		t.Fatal(err)
	}
	d := loaded.Definition
	if d.Name != "w" || d.User != "ann" || len(d.Jobs) != 1 || d.Jobs[0].Command != "echo a" || stderr.Len() > 0 {
		t.Errorf("loaded %+v and wrote %q", d, stderr)
	}
	a, _ = factoryFor(t, strings.NewReader("name: w\njobs:\n  - name: a\n"))
	if _, err := Load(a, "-", Flags{}); cli.ExitStatus(err) != cli.ExitInvalidSpec {
		t.Errorf("a job without a command: %v", err)
	}
}

// TestRelativePath: the path of a file is relative to the folder of the invocation, which
// need not be that of the process.
func TestRelativePath(t *testing.T) {
	a, _ := factoryFor(t, nil)
	if err := os.WriteFile(filepath.Join(a.Dir, "infra.yaml"), []byte("name: infra\nrules: [{id: node, when: {cause: [node_fail]}, action: retry, limit: 3}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := spec.LoadPolicy("infra.yaml", Options(a, Flags{})); err != nil || f.Policy.Name != "infra" {
		t.Errorf("%+v, error %v", f, err)
	}
	if _, err := spec.LoadPolicy("missing.yaml", Options(a, Flags{})); err == nil || err.Error() != "there is no file missing.yaml" {
		t.Errorf("a missing file: %v", err)
	}
}
