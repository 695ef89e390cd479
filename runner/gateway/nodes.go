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

// Nodes are gateways on the other nodes of an allocation, each a process there
// that is started for the first job on its node and lives as long as Nodes.
type Nodes struct {
	command func(node string, port int) *exec.Cmd
	log     *slog.Logger
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	done    sync.WaitGroup

	mu    sync.Mutex
	nodes map[string]*node
}

// node is one of them; Nodes.mu guards it.
type node struct {
	url    string
	failed bool          // the latest process has ended, and the next one is not there
	news   chan struct{} // closed when one of these changes
}

const (
	nodeStartTime = 15 * time.Second // how long a job waits for its node's gateway
	nodeEndTime   = 5 * time.Second  // what a gateway has to end after its standard input has
	leastPause    = time.Second      // before a gateway that has ended is started again
	mostPause     = time.Minute
)

// NewNodes returns gateways that a command starts on a node; it writes what Ready
// returns to its standard output and ends when its standard input does. The port is
// where the former gateway of the node was, 0 if there was none.
func NewNodes(command func(node string, port int) *exec.Cmd, log *slog.Logger) *Nodes {
	ctx, end := context.WithCancel(context.Background())
	return &Nodes{command: command, log: log, ctx: ctx, end: end, nodes: map[string]*node{}}
}

const readyPrefix = "torc-gateway "

// Ready is the line by which the process of a gateway says where it listens.
func (g *Gateway) Ready() string { return readyPrefix + g.url }

// URL returns the base of the API for jobs on a node. It waits a moment for one that
// is starting; empty if there is none now.
func (n *Nodes) URL(name string) string {
	timer := time.NewTimer(nodeStartTime)
	defer timer.Stop()
	for {
		url, failed, news := n.look(name)
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

// look returns what is known of a node, and starts a gateway there the first time.
func (n *Nodes) look(name string) (url string, failed bool, news <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.nodes[name]
	if at == nil {
		at = &node{news: make(chan struct{})}
		n.nodes[name] = at
		n.done.Go(func() { n.keep(name) })
	}
	return at.url, at.failed, at.news
}

func (n *Nodes) set(name, url string, failed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.nodes[name]
	at.url, at.failed = url, failed
	close(at.news)
	at.news = make(chan struct{})
}

// Close ends the gateways and waits for them.
func (n *Nodes) Close() {
	n.end()
	n.done.Wait()
}

// keep has a gateway run on a node until Close.
func (n *Nodes) keep(name string) {
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

// run has a process serve until it ends, or Close is called.
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
				_ = cmd.Process.Signal(sig) // it may have ended now
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
