package configcmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// run executes a command in a folder, whose user has the home /HOME below it. In the
// output, DIR stands for the folder.
func run(t *testing.T, dir string, environ []string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs strings.Builder
	a := cli.New(cli.Environment{
		Args: []string{"torc-slurm"}, Environ: append([]string{"HOME=" + filepath.Join(dir, "HOME")}, environ...), Dir: dir,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, StopSignals: func() {},
	}, nil)
	defer a.StopSignals()
	root := cli.NewRoot(a)
	root.AddCommand(New(a))
	status = a.Finish(cli.Execute(a, root, args))
	name := func(text string) string { return strings.ReplaceAll(text, dir, "DIR") }
	return name(out.String()), name(errs.String()), status
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestShow(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "HOME/.config/torc/config.toml"), "[client]\nformat = \"json\"\n[client.run]\noutput_dir = \"/scratch\"\nnum_cpus = 4\n")
	for _, tt := range []struct {
		args   []string
		want   []string
		status int
		stderr string
	}{
		{[]string{"config", "show"}, []string{"format = \"json\"", "output_dir = \"/elsewhere\"", "num_cpus = 4"}, 0, ""},
		{[]string{"config", "show", "-f", "toml"}, []string{"format = \"json\"", "output_dir = \"/elsewhere\"", "num_cpus = 4"}, 0, ""},
		{[]string{"config", "show", "-f", "json"}, []string{`"format": "json"`, `"output_dir": "/elsewhere"`, `"num_cpus": 4`}, 0, ""},
		{[]string{"config", "show", "-f", "csv"}, nil, cli.ExitUsage, `"message": "unknown format \"csv\": use toml or json"`},
		{[]string{"config", "show", "more"}, nil, cli.ExitUsage, ""},
	} {
		stdout, stderr, status := run(t, dir, []string{"TORC_CLIENT__RUN__OUTPUT_DIR=/elsewhere"}, tt.args...)
		for _, part := range tt.want {
			if !strings.Contains(stdout, part) {
				t.Errorf("%s does not show %s:\n%s", tt.args, part, stdout)
			}
		}
		if status != tt.status && tt.args[len(tt.args)-1] != "more" || !strings.Contains(stderr, tt.stderr) || len(tt.want) == 0 && stdout != "" {
			t.Errorf("%s: status %d, %s", tt.args, status, stderr)
		}
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "torc.toml"), "")
	stdout, stderr, status := run(t, dir, nil, "-f", "csv", "config", "paths")
	const want = `Kind,Path,Exists
system,/etc/torc/config.toml,false
user,DIR/HOME/.config/torc/config.toml,false
local,DIR/torc.toml,true
`
	if stdout != want || status != 0 {
		t.Errorf("status %d\n%s%swant:\n%s", status, stdout, stderr, want)
	}
}

func TestInit(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		args           []string
		stdout, stderr string
		status         int
	}{
		{[]string{"config", "init"}, "Wrote DIR/torc.toml\n", "", 0},
		{[]string{"config", "init", "--local"}, "", "error: DIR/torc.toml already exists\nhint: --force replaces it\n", cli.ExitRefused},
		{[]string{"config", "init", "-f"}, "Wrote DIR/torc.toml\n", "", 0},
		{[]string{"--format", "json", "config", "init", "--user"}, "{\n  \"kind\": \"user\",\n  \"path\": \"DIR/HOME/.config/torc/config.toml\"\n}\n", "", 0},
		{[]string{"config", "validate"}, "The configuration is valid.\n", "", 0},
	} {
		stdout, stderr, status := run(t, dir, nil, tt.args...)
		if stdout != tt.stdout || stderr != tt.stderr || status != tt.status {
			t.Errorf("%s: status %d\n%s%swant %d\n%s%s", tt.args, status, stdout, stderr, tt.status, tt.stdout, tt.stderr)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "torc.toml")); err != nil || !strings.HasPrefix(string(text), "# Configuration of torc-slurm. Delete what you do not change.\n") {
		t.Errorf("the file: %v\n%s", err, text)
	}
	if _, stderr, status := run(t, dir, nil, "config", "init", "--user", "--system"); status == 0 || !strings.Contains(stderr, "[system user] were all set") {
		t.Errorf("of two kinds: status %d, %s", status, stderr)
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name, text     string
		args           []string
		stdout, stderr string
		status         int
	}{
		{"unknown key", "[client]\ncolour = \"red\"\n", nil, "DIR/torc.toml: unknown key client.colour\n", "", cli.ExitFailed},
		{"JSON", "", []string{"-f", "json"}, "{\n  \"valid\": true,\n  \"warnings\": []\n}\n", "", 0},
		{"not TOML", "[client\n", nil, "", "error: DIR/torc.toml:2: expected", cli.ExitUsage},
		{"wrong type", "[client]\nformat = 3\n", nil, "", "error: DIR/torc.toml: line 2 (last key \"client.format\"): incompatible types", cli.ExitUsage},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "torc.toml"), tt.text)
		stdout, stderr, status := run(t, dir, nil, append(tt.args, "config", "validate")...)
		if stdout != tt.stdout || !strings.HasPrefix(stderr, tt.stderr) || status != tt.status {
			t.Errorf("%s: status %d\n%s%swant %d\n%s%s", tt.name, status, stdout, stderr, tt.status, tt.stdout, tt.stderr)
		}
	}
}

// TestTrustedFolderCounts: what a torc.toml decides counts once its folder is trusted.
func TestTrustedFolderCounts(t *testing.T) {
	dir := t.TempDir()
	user := filepath.Join(dir, "HOME/.config/torc/config.toml")
	for _, tt := range []struct {
		args           []string
		stdout, stderr string
		status         int
	}{
		{[]string{"config", "trust", "missing"}, "", "error: there is no folder DIR/missing\n", 3},
		{[]string{"config", "trust"}, "Trusted folders in DIR/HOME/.config/torc/config.toml: DIR\n", "", 0},
		{[]string{"config", "trust", "."}, "Trusted folders in DIR/HOME/.config/torc/config.toml: DIR\n", "", 0},
		{[]string{"-f", "json", "config", "trust", "HOME"}, "{\n  \"path\": \"DIR/HOME/.config/torc/config.toml\",\n  \"trusted_folders\": [\n    \"DIR\",\n    \"DIR/HOME\"\n  ]\n}\n", "", 0},
		{[]string{"config", "trust", "--remove", "HOME"}, "Trusted folders in DIR/HOME/.config/torc/config.toml: DIR\n", "", 0},
		{[]string{"config", "trust", "--remove"}, "Trusted folders in DIR/HOME/.config/torc/config.toml: none\n", "", 0},
		{[]string{"-f", "json", "config", "trust", "--remove", "gone"}, "{\n  \"path\": \"DIR/HOME/.config/torc/config.toml\",\n  \"trusted_folders\": []\n}\n", "", 0},
	} {
		stdout, stderr, status := run(t, dir, nil, tt.args...)
		if stdout != tt.stdout || stderr != tt.stderr || status != tt.status {
			t.Errorf("%s: status %d\n%s%swant %d\n%s%s", tt.args, status, stdout, stderr, tt.status, tt.stdout, tt.stderr)
		}
	}
	if text, err := os.ReadFile(user); err != nil || len(text) > 0 {
		t.Errorf("the file that trusts nothing: %q, %v", text, err)
	}
	write(t, user, "\"trusted_folders\" = ['/x']\n")
	_, stderr, status := run(t, dir, nil, "config", "trust")
	want := "error: DIR/HOME/.config/torc/config.toml: this command cannot edit trusted_folders in the form in which it is written\n" +
		"hint: add it by hand above the first [section]: trusted_folders = [\"DIR\"]\n"
	if stderr != want || status != cli.ExitUsage {
		t.Errorf("status %d\n%swant:\n%s", status, stderr, want)
	}
}
