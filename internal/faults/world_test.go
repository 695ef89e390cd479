package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/peer"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// world is a user of the cluster with a folder, Slurm's programs, which can be made to
// fail, and a daemon.
type world struct {
	t       *testing.T
	real    *slurmtest.Real
	dir     string
	program string
	owner   *syscall.Credential
	root    *slurm.Client // acts as an administrator
	user    *slurm.Client // acts as the user, without our program
	began   time.Time

	settings map[string]string // of [server.slurm] in the configuration
	maxCalls int               // of Slurm, within a minute
	daemon   *exec.Cmd
	client   *client.Client
	endpoint server.Endpoint
}

// quick returns the intervals of the daemon in these tests.
func quick() map[string]string {
	return map[string]string{
		"poll_interval_secs": "3", "hurry_secs": "1.5", "least_secs": "1", "absent_secs": "3", "asked_for_secs": "10",
		"accounting_patience_secs": "8", "cause_patience_secs": "15", "completing_secs": "30", "heartbeat_timeout_secs": "20",
		"no_runner_secs": "30", "stop_secs": "10", "cancel_again_secs": "5", "comment_secs": "4", "min_walltime_secs": "60", "retry_after_secs": "2",
		"probe_after_secs": "3", "call_timeout_secs": "20",
		// With a forecast the number of allocations depends on what the tests beside this one leave free.
		"forecast": "false",
	}
}

// newWorld creates a world and starts its daemon; settings override the quick ones.
func newWorld(t *testing.T, real *slurmtest.Real, settings ...string) *world {
	t.Helper()
	w := newWorldWithoutDaemon(t, real, settings...)
	w.startDaemon()
	return w
}

func newWorldWithoutDaemon(t *testing.T, real *slurmtest.Real, settings ...string) *world {
	t.Helper()
	owner, err := user.Lookup(slurmtest.TestUser)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(owner.Uid, 10, 32)
	gid, _ := strconv.ParseUint(owner.Gid, 10, 32)
	w := &world{
		t: t, real: real, dir: real.Dir(t), program: program(t, real), began: time.Now(), settings: quick(), maxCalls: usualCalls,
		owner: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
		root:  slurm.New(slurm.Options{Executor: real.Root()}), user: slurm.New(slurm.Options{Executor: real.User()}),
	}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		w.settings[key] = value
	}
	w.writeScripts()
	t.Cleanup(w.tearDown)
	return w
}

// path returns a path in the world's folder.
func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

// write writes a file that belongs to the user.
func (w *world) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := w.path(name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err == nil {
		err = errors.Join(os.Chown(filepath.Dir(path), int(w.owner.Uid), int(w.owner.Gid)), os.Chown(path, int(w.owner.Uid), int(w.owner.Gid)))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) environ() []string {
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.dir, "USER=" + slurmtest.TestUser, "TMPDIR=" + w.dir,
		"TORC_HOME=" + w.path("home"), "SLURM_CONF=" + w.real.Config(),
	}
	for _, name := range programs {
		env = append(env, "TORC_FAKE_"+strings.ToUpper(name)+"="+w.path("bin", name))
	}
	for key, value := range w.settings {
		env = append(env, "TORC_SERVER__SLURM__"+strings.ToUpper(key)+"="+value)
	}
	return env
}

// command is a call of the program by the user.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.program, args...)
	cmd.Dir, cmd.Env = w.dir, w.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.owner, Setpgid: true}
	return cmd
}

// run runs a command of the program and returns its output.
func (w *world) run(args ...string) string {
	w.t.Helper()
	cmd := w.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("torc-slurm %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out)
}

// startDaemon starts the daemon as users do who manage it themselves, and waits until it
// answers.
func (w *world) startDaemon() {
	w.t.Helper()
	log, err := os.OpenFile(w.path("daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	w.daemon = w.command("serve", "--port", "0", "--token-file", w.path("token"), "--log-level", "debug")
	w.daemon.Stdout, w.daemon.Stderr = log, log
	if err := w.daemon.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.findDaemon(func(e server.Endpoint) bool { return e.PID == w.daemon.Process.Pid })
}

// findDaemon waits until the right daemon answers.
func (w *world) findDaemon(right func(server.Endpoint) bool) {
	w.t.Helper()
	w.eventually(time.Minute, "the daemon answers", func() bool {
		e, err := w.readEndpoint()
		if err != nil || !right(e) {
			return false
		}
		o := client.Options{URL: e.URL, Token: e.Token, PeerUID: unknownUser}
		if e.NodeURL != "" {
			o.URL, o.CAFingerprint = e.NodeURL, e.Fingerprint
		}
		c, err := client.New(o)
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = c.Ping(w.t.Context())
		w.client, w.endpoint = c, e
		return err == nil
	})
}

// readEndpoint reads the endpoint file of the daemon, which belongs to another user.
func (w *world) readEndpoint() (server.Endpoint, error) {
	path := server.EndpointPath(w.path("home"))
	text, err := os.ReadFile(path)
	if err != nil {
		return server.Endpoint{}, err
	}
	return server.ParseEndpoint(path, text)
}

// unknownUser has the client send the token to a daemon of another user.
func unknownUser(net.Conn) (uint32, error) { return 0, peer.ErrUnknown }

// killDaemon kills the daemon.
func (w *world) killDaemon() {
	w.t.Helper()
	if err := w.daemon.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	_ = w.daemon.Wait() // it was killed
	w.daemon = nil
}

// tearDown ends what is left, and shows the daemon's output if the test failed.
func (w *world) tearDown() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), time.Minute)
	defer cancel()
	if queue, err := w.root.Queue(ctx, slurm.QueueQuery{User: slurmtest.TestUser}); err == nil {
		for _, j := range queue.Jobs {
			if strings.HasPrefix(j.Name, "torc:"+w.name()+".") || j.Name == w.daemonJob() {
				_ = w.root.Cancel(ctx, j.ID)
			}
		}
	}
	if w.client != nil && w.t.Failed() {
		w.t.Log(w.progress(1))
	}
	if w.daemon != nil {
		_ = w.daemon.Process.Signal(syscall.SIGTERM)
		_ = w.daemon.Wait() // its result does not matter
	}
	w.endpoint.PID = 0 // a daemon that was not started by us is ended like everything else
	for pid := range w.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if w.t.Failed() {
		w.showLogs()
	}
}

// showLogs shows the last lines of the logs of daemon, runners and Slurm's programs.
func (w *world) showLogs() {
	files := []string{w.path("daemon.log"), w.path("calls"), w.path("refusals"), w.path("journal")}
	runners, _ := filepath.Glob(w.path("out", "*.log"))
	for _, path := range append(files, runners...) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		const most = 6000
		w.t.Logf("%s ends with:\n%s", path, text[max(0, len(text)-most):])
	}
}

// name returns the name of the world's workflow, which is also in the names of its
// allocations. It differs for each run of the same test.
func (w *world) name() string {
	test := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(w.t.Name(), "Test")), "/", "-")
	return test + "-" + w.dir[max(0, len(w.dir)-4):]
}

// daemonJob returns the name of a Slurm job that runs the world's daemon.
func (w *world) daemonJob() string { return "torc-daemon-" + w.name() }

// submit creates a workflow from a specification and leaves the rest to the daemon.
func (w *world) submit(spec string) int64 {
	w.t.Helper()
	w.write("spec.yaml", "name: "+w.name()+"\n"+spec, 0o644)
	var made struct {
		ID int64 `json:"workflow_id"`
	}
	out := w.run("-f", "json", "submit", "--skip-checks", "-o", w.path("out"), "spec.yaml")
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		w.t.Fatalf("submit said %q: %v", out, err)
	}
	return made.ID
}
