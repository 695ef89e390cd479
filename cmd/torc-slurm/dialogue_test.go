package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// person is somebody with a home, a daemon and a fake Slurm of their own.
type person struct {
	*testing.T
	dir     string
	slurm   *slurmtest.Cluster
	environ []string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{T: t, dir: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, self, filepath.Join(p.dir, "torc-slurm"))
	home := filepath.Join(p.dir, "home")
	if err := os.MkdirAll(home, 0o777); err != nil {
		t.Fatal(err)
	}
	cluster, variables, stop, err := startFakeSlurm(filepath.Join(p.dir, "slurm"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	t.Cleanup(func() { endDaemon(server.EndpointPath(filepath.Join(home, "torc"))) })
	p.slurm = cluster
	p.environ = append(os.Environ(), "HOME="+home, "TORC_HOME="+filepath.Join(home, "torc"), "TMPDIR="+p.dir, "XDG_RUNTIME_DIR=", "USER=tester", "NO_COLOR=1",
		"TERM=dumb", "GORACE=atexit_sleep_ms=0", "TORC_SERVER__IDLE_TIMEOUT_SECS=60")
	for name, path := range variables {
		p.environ = append(p.environ, name+"="+path)
	}
	return p
}

func (p *person) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.dir, "torc-slurm"), args...)
	cmd.Dir, cmd.Env = p.dir, p.environ
	return cmd
}

// run runs a command without a terminal; its exit status must be this one.
func (p *person) run(status int, args ...string) (stdout, stderr string) {
	p.Helper()
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != status {
		p.Fatalf("torc-slurm %s: %v, want exit status %d\n%s%s", strings.Join(args, " "), err, status, &out, &errs)
	}
	return out.String(), errs.String()
}

// decode runs a command with JSON output.
func (p *person) decode(v any, args ...string) {
	p.Helper()
	out, _ := p.run(0, append([]string{"-f", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		p.Fatalf("%v: %v", args, err)
	}
}

// write writes a file where the person is.
func (p *person) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o666); err != nil {
		p.Fatal(err)
	}
}

// What is typed on a terminal.
const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

// dialogue is a command on a terminal of its own.
type dialogue struct {
	*testing.T
	cmd      *exec.Cmd
	terminal *os.File
	read     sync.WaitGroup

	mu    sync.Mutex
	text  string // that was written and not expected yet
	whole string
}

// talk starts a command on a terminal.
func (p *person) talk(args ...string) *dialogue {
	p.Helper()
	d := &dialogue{T: p.T, cmd: p.command(args...)}
	var err error
	if d.terminal, err = pty.StartWithSize(d.cmd, &pty.Winsize{Rows: 40, Cols: 160}); err != nil {
		p.Fatal(err)
	}
	d.read.Go(func() { _, _ = io.Copy(d, d.terminal) }) // ends with an error when the last process has gone
	return d
}

// Write takes what the command writes.
func (d *dialogue) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text += string(b)
	d.whole += string(b)
	return len(b), nil
}

// expect waits until the command has written a text, and answers.
func (d *dialogue) expect(text, answer string) {
	d.Helper()
	found := eventually(func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		_, after, found := strings.Cut(d.text, text)
		if found {
			d.text = after
		}
		return found
	})
	if !found {
		d.end()
		d.Fatalf("it does not say %q, but\n%s", text, d.whole)
	}
	if _, err := d.terminal.WriteString(answer); err != nil {
		d.Fatal(err)
	}
}

// exits waits for the end of the command and returns all it wrote: its last words
// are read after it has gone.
func (d *dialogue) exits(status int) string {
	d.Helper()
	overdue := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill(); d.terminal.Close() })
	_ = d.cmd.Wait() // the status says it
	d.read.Wait()
	overdue.Stop()
	d.end()
	if got := d.cmd.ProcessState.ExitCode(); got != status {
		d.Fatalf("exit status %d, want %d:\n%s", got, status, d.whole)
	}
	return d.whole
}

func (d *dialogue) end() {
	_ = d.cmd.Process.Kill() // it may have gone
	d.terminal.Close()
	d.read.Wait()
}
