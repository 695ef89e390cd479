package noderunner

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// nodeLink is a runner's connection to the daemon. The daemon may be down for a while and
// start again on another host. So after a failed call the link reads the endpoint file
// again, which is on a file system that compute nodes and login nodes share.
type nodeLink struct {
	endpoint string // the file that says where the daemon is
	secret   string // the file with the allocation's secret
	log      *slog.Logger

	mu     sync.Mutex
	url    string
	pin    string
	client *client.Client
}

// linkRetries is how often the client itself repeats a call. The link and the runner repeat
// it too.
const linkRetries = 1

// current returns the client for the last known address of the daemon, or an error if there
// is no known address yet and none can be read.
func (l *nodeLink) current() (*client.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil {
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	return l.client, nil
}

// open reads the secret and the endpoint file, and makes another client if the address has
// changed. It returns an error if a file cannot be read, or the daemon does not listen for
// compute nodes. mu must be held.
func (l *nodeLink) open() error {
	secret, err := trustedfile.ReadSecret(l.secret)
	if err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "cannot read the secret of this allocation: %v", err).
			WithHint("the daemon removes the secret when it considers the allocation ended")
	}
	e, err := server.ReadEndpoint(l.endpoint)
	if err != nil {
		return workflow.Errorf(workflow.CodeUnavailable, "cannot find the daemon: %v", err)
	}
	if e.NodeURL == "" {
		return workflow.Errorf(workflow.CodeUnavailable, "the daemon does not listen for compute nodes")
	}
	if l.client != nil && e.NodeURL == l.url && e.Fingerprint == l.pin {
		return nil
	}
	c, err := client.New(client.Options{
		URL: e.NodeURL, Token: strings.TrimSpace(string(secret)), CAFingerprint: e.Fingerprint, Retries: linkRetries, Log: l.log,
	})
	if err != nil {
		return err
	}
	if l.client != nil {
		l.log.Info("the daemon has moved", "url", e.NodeURL)
		l.client.Close()
	}
	l.client, l.url, l.pin = c, e.NodeURL, e.Fingerprint
	return nil
}

// movedSince reports whether the daemon has another address than the client c, whose call
// failed.
func (l *nodeLink) movedSince(c *client.Client, failure error) bool {
	var answer *client.APIError
	if errors.As(failure, &answer) && answer.Status != http.StatusUnauthorized && answer.Status != http.StatusForbidden {
		return false // the daemon has answered
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == c {
		if err := l.open(); err != nil {
			l.log.Warn("cannot find out where the daemon is", "error", err)
		}
	}
	return l.client != c
}

func (l *nodeLink) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		l.client.Close()
	}
}

// throughLink makes a call, and repeats it once if the daemon has moved. It returns the answer
// or the last error.
func throughLink[T any](ctx context.Context, l *nodeLink, call func(*client.Client) (T, error)) (answer T, err error) {
	c, err := l.current()
	if err != nil {
		return answer, err
	}
	answer, err = call(c)
	if err != nil && ctx.Err() == nil && l.movedSince(c, err) {
		if c, err = l.current(); err == nil {
			answer, err = call(c)
		}
	}
	return answer, err
}

// Register registers the runner with the daemon.
func (l *nodeLink) Register(ctx context.Context, workflowID int64, req *lease.RegisterRequest) (*lease.RegisterResponse, error) {
	return throughLink(ctx, l, func(c *client.Client) (*lease.RegisterResponse, error) {
		return c.Runners.Register(ctx, workflowID, req)
	})
}

// Turn sends a turn of the runner and returns the daemon's answer.
func (l *nodeLink) Turn(ctx context.Context, runnerID int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	return throughLink(ctx, l, func(c *client.Client) (*lease.TurnResponse, error) { return c.Runners.Turn(ctx, runnerID, req) })
}

// Leave deregisters the runner.
func (l *nodeLink) Leave(ctx context.Context, runnerID int64, req *lease.LeaveRequest) (*lease.LeaveResponse, error) {
	return throughLink(ctx, l, func(c *client.Client) (*lease.LeaveResponse, error) { return c.Runners.Leave(ctx, runnerID, req) })
}

// FailedWorkflow returns what the jobs of a compensation are told about the failed run.
func (l *nodeLink) FailedWorkflow(ctx context.Context, workflowID int64) (*stage.FailedWorkflow, error) {
	return throughLink(ctx, l, func(c *client.Client) (*stage.FailedWorkflow, error) {
		return c.Runners.FailedWorkflow(ctx, workflowID)
	})
}

// Actions returns the actions of the workflow.
func (l *nodeLink) Actions(ctx context.Context, workflowID int64) ([]api.Action, error) {
	return throughLink(ctx, l, func(c *client.Client) ([]api.Action, error) { return c.Actions.List(ctx, workflowID) })
}

// ClaimAction claims an action for the runner; false if another runner was first.
func (l *nodeLink) ClaimAction(ctx context.Context, workflowID, actionID, runnerID int64) (bool, error) {
	return throughLink(ctx, l, func(c *client.Client) (bool, error) {
		return c.Runners.ClaimAction(ctx, workflowID, actionID, runnerID)
	})
}

// AccountSteps reports Slurm's accounting of attempts.
func (l *nodeLink) AccountSteps(ctx context.Context, runnerID int64, accounts *api.StepAccounts) error {
	_, err := throughLink(ctx, l, func(c *client.Client) (struct{}, error) {
		return struct{}{}, c.Runners.AccountSteps(ctx, runnerID, accounts)
	})
	return err
}

// Version returns the daemon's version.
func (l *nodeLink) Version(ctx context.Context) (*api.VersionInfo, error) {
	return throughLink(ctx, l, func(c *client.Client) (*api.VersionInfo, error) { return c.Version(ctx) })
}

// Forward sends a request of a job to the daemon and returns the response. If the daemon has
// moved and nothing of the body has been read, it sends the request once more.
func (l *nodeLink) Forward(req *http.Request) (*http.Response, error) {
	c, err := l.current()
	if err != nil {
		return nil, err
	}
	body := &watchedBody{ReadCloser: req.Body}
	if req.Body != nil && req.Body != http.NoBody {
		req = req.WithContext(req.Context())
		req.Body = body
	}
	resp, err := c.Forward(req)
	failure := err
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		failure = &client.APIError{Status: resp.StatusCode} // another program may use its old port
	}
	if failure == nil || req.Context().Err() != nil || body.read.Load() || !l.movedSince(c, failure) {
		return resp, err
	}
	moved, e := l.current()
	if e != nil {
		return resp, err
	}
	if resp != nil {
		_ = resp.Body.Close() // replaced by the next response
	}
	return moved.Forward(req)
}

// watchedBody is a request body that can be sent again if it has not been read. Close does
// nothing, because a transport that cannot connect closes the body; the HTTP server closes
// the original one.
type watchedBody struct {
	io.ReadCloser
	read atomic.Bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.read.Store(true)
	}
	return n, err
}

func (b *watchedBody) Close() error { return nil }

// versioner returns the version of a server.
type versioner interface {
	Version(ctx context.Context) (*api.VersionInfo, error)
}

// The first and the longest pause between two calls of a daemon that does not answer. They
// are short enough to connect a few seconds after it starts, and vary at random so that
// runners do not call all at once.
const (
	firstPause = time.Second
	maxPause   = 5 * time.Second
)

// rejectionPatience is how long a rejection is ignored at the start. Another program may
// listen on the daemon's old port, and the file system may show an old state of the folder
// with the secret.
const rejectionPatience = time.Minute

// awaitServer waits until a server answers, since it may be down for a while, and returns its
// version. It returns the last error when patience is over, when the server has rejected the
// calls for rejectionPatience, or when ctx ends.
func awaitServer(ctx context.Context, c versioner, patience time.Duration, log *slog.Logger) (*api.VersionInfo, error) {
	until := time.Now().Add(patience)
	var rejectedSince time.Time // zero if the last call was not rejected
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		version, err := c.Version(ctx)
		now := time.Now()
		switch {
		case err == nil || !now.Before(until):
			return version, err
		case !isRejection(err):
			rejectedSince = time.Time{}
		case rejectedSince.IsZero():
			rejectedSince = now
		case now.Sub(rejectedSince) >= rejectionPatience:
			return nil, err
		}
		wait := time.Duration((0.6 + 0.4*rand.Float64()) * float64(pause))
		log.Warn("the daemon does not answer", "error", err, "retry_s", wait.Seconds(), "patience_s", until.Sub(now).Seconds())
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

// isRejection reports whether a server has answered and rejects the runner, or the runner has
// no secret.
func isRejection(err error) bool {
	var answer *client.APIError
	if errors.As(err, &answer) {
		return answer.Status < http.StatusInternalServerError
	}
	return workflow.CodeOf(err) == workflow.CodeForbidden
}
