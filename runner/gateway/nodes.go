package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Nodes are gateways on the other nodes of an allocation. Each is a process that is
// started for the first job on its node and runs until Close.
type Nodes struct {
	command func(node string, port int) *exec.Cmd
	log     *slog.Logger
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	done    sync.WaitGroup

	mu    sync.Mutex
	nodes map[string]*node
}

// node is one gateway, guarded by Nodes.mu.
type node struct {
	url     string
	failed  bool          // the process has ended and is not yet restarted
	changed chan struct{} // closed when one of these changes
}

const (
	nodeStartTime = 15 * time.Second // how long a job waits for its node's gateway
	nodeEndTime   = 5 * time.Second  // grace of a gateway after its standard input is closed
	leastPause    = time.Second      // before a gateway that has ended is restarted
	mostPause     = time.Minute
)

// NewNodes returns Nodes whose gateways are started by a command. It must write what Ready
// returns to standard output, and end when standard input is closed. port is that of the
// previous gateway on the node, 0 if there was none.
func NewNodes(command func(node string, port int) *exec.Cmd, log *slog.Logger) *Nodes {
	ctx, end := context.WithCancel(context.Background())
	return &Nodes{command: command, log: log, ctx: ctx, end: end, nodes: map[string]*node{}}
}

const readyPrefix = "torc-gateway "

// Ready returns the line by which the process of a gateway reports its URL.
func (g *Gateway) Ready() string { return readyPrefix + g.url }

// URL returns the base of the API for jobs on a node, empty if there is none. It waits up
// to nodeStartTime for a gateway that is starting.
func (n *Nodes) URL(name string) string {
	timer := time.NewTimer(nodeStartTime)
	defer timer.Stop()
	for {
		url, failed, news := n.get(name)
		if url != "" || failed {
			return url
		}
		select {
		case <-news:
		case <-timer.C:
			n.log.Warn("jobs on a node cannot call the API yet", "node", name)
			return ""
		case <-n.ctx.Done():
			return ""
		}
	}
}

// get returns the state of a node. It starts the gateway on the first call.
func (n *Nodes) get(name string) (url string, failed bool, news <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.nodes[name]
	if at == nil {
		at = &node{changed: make(chan struct{})}
		n.nodes[name] = at
		n.done.Go(func() { n.keepRunning(name) })
	}
	return at.url, at.failed, at.changed
}

func (n *Nodes) set(name, url string, failed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.nodes[name]
	at.url, at.failed = url, failed
	close(at.changed)
	at.changed = make(chan struct{})
}

// Close ends the gateways and waits for them.
func (n *Nodes) Close() {
	n.end()
	n.done.Wait()
}

// keepRunning runs a gateway on a node, and restarts it, until Close.
func (n *Nodes) keepRunning(name string) {
	port, pause := 0, leastPause
	for n.ctx.Err() == nil {
		err := n.run(name, port, func(url string) {
			port, pause = portOf(url), leastPause
			n.set(name, url, false)
		})
		if n.ctx.Err() != nil {
			return
		}
		n.set(name, "", true)
		n.log.Warn("jobs on a node cannot call the API for now", "node", name, "error", err, "retry_s", pause.Seconds())
		select {
		case <-n.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

// run runs the process of a gateway. It returns an error when it has ended.
func (n *Nodes) run(name string, port int, ready func(url string)) error {
	cmd := n.command(name, port)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start a gateway: %w", err), in.Close(), out.Close())
	}
	ended := make(chan struct{})
	var ending sync.WaitGroup
	ending.Go(func() {
		select {
		case <-ended:
			return
		case <-n.ctx.Done():
		}
		_ = in.Close() // the process ends by itself
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-ended:
				return
			case <-time.After(nodeEndTime):
				_ = cmd.Process.Signal(sig) // it may have ended
			}
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), readyPrefix); ok {
			ready(url)
		}
	}
	_, _ = io.Copy(io.Discard, out) // after a line that is too long
	err = cmd.Wait()
	close(ended)
	ending.Wait()
	if err == nil {
		err = errors.New("it has ended")
	}
	return err
}
