package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/peer/peertest"
	"github.com/torc-slurm/torc-slurm/server"
)

const asking = `
name: asking
jobs:
  - name: a
    command: |
      env >environment
      curl -sS -o answer -w '%{http_code}' "$TORC_API_URL/jobs/$TORC_JOB_ID" >code
      echo yes >started
      until [ -e go ]; do sleep 0.05; done
`

// eventually waits until a condition is met.
func (p *person) eventually(what string, is func() bool) {
	p.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(deadline) {
			p.Fatalf("never came: %s", what)
		}
		cli.Pause(p.Context(), 20*time.Millisecond) //nolint:errcheck // the deadline ends it
	}
}

func (p *person) read(pattern string) string {
	p.Helper()
	names, err := filepath.Glob(filepath.Join(p.dir, pattern))
	if err != nil {
		p.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			p.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestAnotherUserTakesThePort: after the daemon was killed another user listens on
// its port. Neither a runner nor a command sends anything there, and both say whose
// it is. When the port is free again the next daemon takes it, with another token.
func TestAnotherUserTakesThePort(t *testing.T) {
	p := newPerson(t)
	p.write("asking.yaml", asking)
	p.run(0, "create", "asking.yaml")
	endpoint := server.EndpointPath(filepath.Join(p.dir, "home", "torc"))
	first, err := server.ReadEndpoint(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(first.URL)
	if err != nil {
		t.Fatal(err)
	}

	run := p.command("--url", first.URL, "run", "1")
	run.Env = append(run.Env, "TORC_PASSWORD=secret", "TORC_TOKEN_FILE="+server.TokenPath(endpoint))
	var said strings.Builder
	run.Stderr = &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer run.Process.Kill() //nolint:errcheck // it has ended, if all went well
	p.eventually("the job", func() bool { return p.read("started") != "" })
	if code := p.read("code"); code != "200" {
		t.Errorf("the job's own request without credentials: HTTP %q, %s", code, p.read("answer"))
	}
	for _, name := range []string{"TORC_TOKEN_FILE", "TORC_PASSWORD", first.Token} {
		if strings.Contains(p.read("environment"), name) {
			t.Errorf("%s is in the job's environment", name)
		}
	}

	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.eventually("the end of the daemon", func() bool {
		l, err := net.Listen("tcp", u.Host)
		if err == nil {
			_ = l.Close()
		}
		return err == nil
	})
	other := peertest.Start(t, "collect", "tcp!"+u.Host)
	other.Line()
	whose := fmt.Sprintf("port %s belongs to another user (uid %d)", u.Port(), peertest.User)
	_, stderr := p.run(cli.ExitUnreachable, "--url", first.URL, "--password", "secret", "status", "1")
	if !strings.Contains(stderr, whose) || !strings.Contains(stderr, "hint: nothing was sent") {
		t.Error(stderr)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.eventually("the runner's word about the port", func() bool {
		return strings.Contains(p.read("torc_output/job_runner_*.log"), whose)
	})
	if sent := other.Collected(5); sent != `""` {
		t.Errorf("the other user got %s", sent)
	}

	other.Kill()
	p.run(0, "ping")
	second, err := server.ReadEndpoint(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if second.Token == first.Token || second.URL != first.URL {
		t.Errorf("the next daemon is at %s with token %s, the first was at %s with %s", second.URL, second.Token, first.URL, first.Token)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("the runner: %v\n%s\n%s", err, &said, p.read("torc_output/job_runner_*.log"))
	}
}

// TestJobsOfAnotherLoginNode: the daemon is on another login node, which wants
// credentials. The jobs of a run here call it without any.
func TestJobsOfAnotherLoginNode(t *testing.T) {
	p := newPerson(t)
	p.environ = append(p.environ, "TORC_SERVER__NODE_HOST=127.0.0.1")
	p.write("asking.yaml", asking)
	p.write("go", "")
	p.run(0, "create", "asking.yaml")
	endpoint := server.EndpointPath(filepath.Join(p.dir, "home", "torc"))
	e, err := server.ReadEndpoint(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p.write("home/torc/endpoint.json", strings.Replace(string(text), fmt.Sprintf("%q: %q", "host", e.Host), `"host": "login9"`, 1))
	if err := os.Chmod(endpoint, 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(0, "run", "1")
	p.write("home/torc/endpoint.json", string(text)) // for the end of the daemon
	if code := p.read("code"); code != "200" {
		t.Errorf("a job's request without credentials: HTTP %q, %s", code, p.read("answer"))
	}
	if environment := p.read("environment"); strings.Contains(environment, "TORC_TOKEN_FILE") || !strings.Contains(environment, "TORC_API_URL=http://127.0.0.1:") {
		t.Error(environment)
	}
}

// TestJobsOfANamedServer: a run calls a shared server by TLS, with a password or with
// the token. Its jobs call it without either.
func TestJobsOfANamedServer(t *testing.T) {
	p := newPerson(t)
	p.write("asking.yaml", asking)
	p.write("go", "")
	p.run(0, "htpasswd", "add", "--file", "users", "alice", "--password", "secret", "--cost", "10")
	serve := p.command("serve", "--port", "0", "--database", "shared.db", "--auth-file", "users", "--node-host", "127.0.0.1")
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer serve.Wait() //nolint:errcheck // it is ended by a signal
	defer serve.Process.Signal(syscall.SIGTERM)
	endpoint := server.DatabaseEndpointPath(filepath.Join(p.dir, "shared.db"))
	var e server.Endpoint
	p.eventually("the server", func() (is bool) {
		e, _ = server.ReadEndpoint(endpoint) // until it is there
		return e.NodeURL != ""
	})
	certificate := server.CertificatePath(server.TLSPath(endpoint))
	user := p.environ
	for way, environ := range map[string][]string{
		"a password":                       {"TORC_API_URL=" + e.NodeURL, "TORC_TLS_CA_CERT=" + certificate, "TORC_USERNAME=alice", "TORC_PASSWORD=secret"},
		"the token":                        {"TORC_API_URL=" + e.NodeURL, "TORC_TLS_CA_CERT=" + certificate, "TORC_TOKEN_FILE=" + server.TokenPath(endpoint)},
		"a password, whatever the case is": {"TORC_API_URL=" + strings.Replace(e.NodeURL, "https:", "HTTPS:", 1), "TORC_TLS_CA_CERT=" + certificate, "TORC_USERNAME=alice", "TORC_PASSWORD=secret"},
	} {
		p.environ = append(user[:len(user):len(user)], environ...)
		p.run(0, "run", "asking.yaml")
		if code := p.read("code"); code != "200" {
			t.Errorf("with %s, a job's own request: HTTP %q, %s", way, code, p.read("answer"))
		}
		if seen := p.read("environment"); strings.Contains(seen, "TORC_TOKEN_FILE") || strings.Contains(seen, "TORC_PASSWORD") || !strings.Contains(seen, "TORC_API_URL=http://127.0.0.1:") {
			t.Errorf("with %s: %s", way, seen)
		}
	}
}
