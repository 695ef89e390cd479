package main

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/internal/peer/peertest"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// sideBySide is how many tests run at a time: half of the time they wait for timers
// and for processes that they have started.
const sideBySide = "4"

// leakChecked fails if a test has left a goroutine behind.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", sideBySide); err != nil {
			panic(err)
		}
	}
	status := m.M.Run()
	if err := goleak.Find(); status == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// TestMain makes the test binary also the program, under its names, and the
// programs of a fake Slurm.
func TestMain(m *testing.M) {
	if peertest.Main(os.Getenv) {
		return
	}
	if code, called := slurmtest.Program(os.Getenv, os.Args, os.Stdin, os.Stdout, os.Stderr); called {
		os.Exit(code)
	}
	testscript.Main(leakChecked{m}, map[string]func(){"torc-slurm": main, "torc": main, "torc-server": main, "torc-htpasswd": main, "torc-mcp-server": main, "torc-dash": main, "call": callMain, "agent": agentMain, "fakeagent": fakeAgentMain})
}

// TestScripts runs the scripts in testdata/script: the real program, one
// process per command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               setUpScript,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Updating(),
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":    scriptStatus,
			"interrupt": scriptInterrupt,
			"waitfor":   scriptWaitFor,
			"until":     scriptUntil,
			"gone":      scriptGone,
			"enddaemon": scriptEndDaemon,
			"torcdb":    scriptTorcDatabase,
			"fakeslurm": scriptFakeSlurm,
			"stranger":  scriptStranger,
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// setUpScript gives each script a home of its own, and ends the daemon that it
// leaves there.
func setUpScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("TORC_HOME", filepath.Join(home, "torc"))
	env.Setenv("USER", "tester")
	env.Setenv("TMPDIR", env.WorkDir) // Unix sockets
	env.Setenv("NO_COLOR", "1")
	env.Setenv("GORACE", "atexit_sleep_ms=0")          // else each process lasts a second longer under the race detector
	env.Setenv("TORC_SERVER__IDLE_TIMEOUT_SECS", "60") // should a script not come to its end
	env.Defer(func() {
		endDaemon(server.EndpointPath(filepath.Join(home, "torc")))
	})
	return os.MkdirAll(home, 0o777)
}

// endDaemon ends the daemon of an endpoint file.
func endDaemon(path string) {
	e, err := readEndpoint(path)
	if err != nil {
		return // there is none
	}
	_ = syscall.Kill(e.PID, syscall.SIGTERM) // it may have gone
	eventually(func() bool { return syscall.Kill(e.PID, 0) != nil })
}

// scriptEndDaemon ends the daemon of an endpoint file, and waits until its process is
// gone: enddaemon home/torc/endpoint.json
func scriptEndDaemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: enddaemon FILE")
	}
	if _, err := readEndpoint(ts.MkAbs(args[0])); err != nil {
		ts.Fatalf("%v", err)
	}
	endDaemon(ts.MkAbs(args[0]))
}

// readEndpoint reads an endpoint file, which may be another user's.
func readEndpoint(path string) (server.Endpoint, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return server.Endpoint{}, err
	}
	return server.ParseEndpoint(path, text)
}

// patience is how long a test waits for something that must happen.
const patience = 2 * time.Minute

// eventually waits for a condition and reports whether it has come true.
func eventually(condition func() bool) bool {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-ticker.C {
		if condition() {
			return true
		}
	}
	return condition()
}

// scriptStatus runs a command and compares its exit status:
// status 2 torc-slurm pong
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// scriptStranger gives files to another user, which only root can: stranger FILE...
func scriptStranger(ts *testscript.TestScript, neg bool, args []string) {
	const uid = 65534
	if neg || len(args) == 0 {
		ts.Fatalf("usage: stranger FILE...")
	}
	for _, name := range args {
		ts.Check(os.Lchown(ts.MkAbs(name), uid, uid))
	}
}

// scriptInterrupt sends SIGINT to the background command whose process id is
// in a file: interrupt pid
func scriptInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: interrupt FILE")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGINT))
}

// scriptWaitFor waits until a file is there: waitfor FILE
func scriptWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor FILE")
	}
	path := ts.MkAbs(args[0])
	if !eventually(func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > 0
	}) {
		ts.Fatalf("%s is not there", args[0])
	}
}

// scriptUntil repeats a command of the shell until it succeeds: until 'COMMAND'
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: until 'COMMAND'")
	}
	if !eventually(func() bool { return ts.Exec("sh", "-c", args[0]) == nil }) {
		ts.Fatalf("it never succeeded")
	}
}

// scriptTorcDatabase makes a database as torc has it: torcdb FILE
func scriptTorcDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: torcdb FILE")
	}
	db, err := sql.Open("sqlite3", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY)`)
	ts.Check(err)
}

// scriptGone waits until a file is no longer there: gone FILE
func scriptGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	path := ts.MkAbs(args[0])
	if !eventually(func() bool { _, err := os.Stat(path); return os.IsNotExist(err) }) {
		ts.Fatalf("%s is still there", args[0])
	}
}
