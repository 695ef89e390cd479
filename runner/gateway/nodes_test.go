package gateway

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// on returns the gateways of nodes whose process is a script with the node and the port
// as its arguments.
func on(t *testing.T, script string) *Nodes {
	t.Helper()
	n := NewNodes(func(node string, port int) *exec.Cmd {
		return exec.Command("/bin/sh", "-c", script, "gateway", node, fmt.Sprint(port))
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(n.Close)
	return n
}

// Each node has one gateway, which ends with its standard input.
func TestNodes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	n := on(t, `echo $1 >> starts; echo "slurm says something"; echo "torc-gateway http://127.0.0.1:7/$1"; cat; echo $1 >> ends`)
	for _, name := range []string{"n2", "n3", "n2"} {
		if got, want := n.URL(name), "http://127.0.0.1:7/"+name; got != want {
			t.Errorf("on %s: %q, want %q", name, got, want)
		}
	}
	n.Close()
	for _, file := range []string{"starts", "ends"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || len(text) != len("n2\nn3\n") {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if got := n.URL("n4"); got != "" {
		t.Errorf("after the end there is %q", got)
	}
}

// A gateway that ends is restarted on the same port, since jobs know it; in the meantime
// jobs start without waiting.
func TestNodesStartAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	n := on(t, `if mkdir first 2>/dev/null; then echo "torc-gateway http://127.0.0.1:7/first"; exit 3; fi; echo "torc-gateway http://127.0.0.1:$2/again"; exec cat`)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var got string
	for end := time.Now().Add(time.Minute); got != "http://127.0.0.1:7/again" && time.Now().Before(end); <-tick.C {
		got = n.URL("n2")
	}
	if got != "http://127.0.0.1:7/again" {
		t.Errorf("got %q", got)
	}
}

// If none can be started, jobs start without the API.
func TestNodesThatCannotStart(t *testing.T) {
	n := on(t, `echo "srun: error: unrecognized option '--overlap'" >&2; exit 1`)
	began := time.Now()
	for range 3 {
		if got := n.URL("n2"); got != "" {
			t.Errorf("got %q", got)
		}
	}
	if took := time.Since(began); took >= nodeStartTime {
		t.Errorf("took %s", took)
	}
	missing := NewNodes(func(string, int) *exec.Cmd { return exec.Command("/none") }, slog.New(slog.DiscardHandler))
	defer missing.Close()
	if got := missing.URL("n2"); got != "" {
		t.Errorf("got %q", got)
	}
}
