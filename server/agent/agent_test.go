package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func task(t *testing.T, script string) *Task {
	t.Helper()
	return &Task{
		Agent: Agent{Command: []string{"bash", "-c", script}, File: ServersFile}, Brief: "the task", Server: Server{"prog", []string{"mcp", "a b"}},
		Key: t.Name() + time.Now().String(), Environ: os.Environ(), Timeout: time.Minute, MaxOutput: 1 << 20,
	}
}

// TestRun checks what an agent gets, and that nothing is left of its folder.
func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	x := task(t, `{ cat; echo; cat "$TORC_MCP_CONFIG"; echo; pwd; ls -A; } >`+out)
	if ended, err := Run(t.Context(), x); err != nil || ended != (Ended{Status: "exit status 0"}) {
		t.Fatalf("%+v, %v", ended, err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 3 || lines[0] != "the task" || lines[1] != `{"mcpServers":{"torc":{"type":"stdio","command":"prog","args":["mcp","a b"]}}}` {
		t.Fatalf("%q", lines)
	}
	if _, err := os.Stat(lines[2]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder %s is left: %v", lines[2], err)
	}
}

// TestRunEnds checks how a run that does not end by itself ends.
func TestRunEnds(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	short := func(x *Task) { x.Timeout = time.Millisecond }
	for _, tc := range []struct {
		name   string
		ctx    context.Context
		script string
		change func(*Task)
		check  func(Ended) bool
	}{
		{"status", t.Context(), "exit 3", nil, func(e Ended) bool { return e == Ended{Status: "exit status 3"} }},
		{"time", t.Context(), "sleep 1000", short, func(e Ended) bool { return e.TimedOut && !e.TooMuch && !e.Stopped }},
		{"output", t.Context(), "yes", nil, func(e Ended) bool { return e.TooMuch && !e.TimedOut && !e.Stopped }},
		{"context", stopped, "sleep 1000", nil, func(e Ended) bool { return e.Absent != nil || e.Stopped }},
		{"no program", t.Context(), "", func(x *Task) { x.Agent.Command = []string{"/no/such/agent"} }, func(e Ended) bool { return errors.Is(e.Absent, fs.ErrNotExist) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := task(t, tc.script)
			if tc.change != nil {
				tc.change(x)
			}
			if e, err := Run(tc.ctx, x); err != nil || !tc.check(e) {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// TestRunEndsTree checks that processes in sessions of their own are ended as well, also when
// the agent has ended by itself.
func TestRunEndsTree(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	x := task(t, `setsid bash -c 'echo $$ >>`+pids+`; exec sleep 1000' >/dev/null 2>&1 & until [ -s `+pids+` ]; do :; done`)
	if e, err := Run(t.Context(), x); err != nil || e.Status != "exit status 0" {
		t.Fatalf("%+v, %v", e, err)
	}
	pid, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	environ, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "environ"))
	if err == nil && bytes.Contains(environ, []byte(x.Key)) {
		t.Errorf("process %s is left", pid)
	}
}

// TestRunEndsTreeWithoutKey checks that after the time, children without the key are ended, too.
func TestRunEndsTreeWithoutKey(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	x := task(t, `env -u `+KeyVariable+` setsid bash -c 'echo $$ >`+pids+`; exec sleep 1000' & until [ -s `+pids+` ]; do :; done; yes`)
	if e, err := Run(t.Context(), x); err != nil || !e.TooMuch {
		t.Fatalf("%+v, %v", e, err)
	}
	pid, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	command, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline"))
	if err == nil && bytes.Contains(command, []byte("sleep\x001000")) {
		t.Errorf("process %s is left", pid)
	}
}

// TestEndLeft checks that processes without the key stay.
func TestEndLeft(t *testing.T) {
	other := exec.Command("sleep", "1000")
	other.Env = []string{KeyVariable + "=another"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	if err := EndLeft([]string{"mine", t.Name()}); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	default:
	}
	if err := EndLeft([]string{"another"}); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestFind(t *testing.T) {
	own := Agents{"mine": {Command: []string{"my-agent"}}, "claude": {Command: []string{"wrapper"}}}
	for _, tc := range []struct {
		name    string
		paths   bool
		command string
		code    workflow.Code
	}{
		{"codex", true, "codex", ""},
		{"claude", true, "wrapper", ""},
		{"mine", false, "my-agent", ""},
		{"/opt/agent", true, "/opt/agent", ""},
		{"/opt/agent", false, "", workflow.CodeForbidden},
		{"nobody", true, "", workflow.CodeNotFound},
	} {
		a, err := own.Find(tc.name, tc.paths)
		if tc.code != "" {
			if workflow.CodeOf(err) != tc.code {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if err != nil || a.Command[0] != tc.command {
			t.Errorf("%s: %v, %v", tc.name, a.Command, err)
		}
	}
	for _, bad := range []Agents{{"x": {}}, {"x": {Command: []string{"a"}, Environ: []string{"b"}}}} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestBuiltin checks that each built-in agent gets our server, without permission for more.
func TestBuiltin(t *testing.T) {
	for _, name := range Builtin() {
		a := builtin[name]
		s := &Server{"/bin/a \"b\"", []string{"--call", "key with \\ and \""}}
		command, environ, file, err := a.fill(s, "the task", "/tmp/file")
		if err != nil || command[0] != name {
			t.Fatalf("%s: %v, %v", name, command, err)
		}
		all := strings.Join(append(slices.Concat(command, environ), file), " ")
		if strings.Contains(all, "{brief}") || strings.Contains(all, "{file}") || strings.Contains(all, "{server") {
			t.Errorf("%s: something is not filled in: %s", name, all)
		}
		for _, open := range []string{"yolo", "dangerously", "--allow-all", "bypass"} {
			if strings.Contains(all, open) {
				t.Errorf("%s may do too much: %s", name, open)
			}
		}
		if file == "" {
			program, _ := json.Marshal(s.Program)
			if !strings.Contains(all, "mcp_servers.torc.command="+string(program)) {
				t.Errorf("%s does not get the server: %s", name, all)
			}
			continue
		}
		var settings struct {
			Servers map[string]struct {
				Command string   `json:"command"`
				Args    []string `json:"args"`
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(file), &settings); err != nil {
			t.Fatalf("%s: %v in %s", name, err, file)
		}
		if torc := settings.Servers["torc"]; torc.Command != s.Program || !slices.Equal(torc.Args, s.Args) {
			t.Errorf("%s: %+v", name, torc)
		}
		if !strings.Contains(strings.Join(append(command, environ...), " "), "/tmp/file") {
			t.Errorf("%s does not get its file: %v", name, command)
		}
	}
}
