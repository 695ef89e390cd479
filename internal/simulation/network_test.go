package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// answerTime is how long a caller waits beyond the time that it asked for.
const answerTime = 30 * time.Second

// weather is how bad the network is while there are faults.
type weather struct {
	lost, doubled, slow float64 // probabilities
	slowest             time.Duration
}

// link connects a runner with the daemon: messages get lost, doubled, delayed, and
// overtake each other. It is a runner.Turner.
type link struct {
	*world
	runner string // one process of it
	node   string
	secret string

	registrations int64
	questions     int64 // one at a time
}

var errNetwork = errors.New("simulated: no answer")

func (l *link) Register(ctx context.Context, workflowID int64, req *lease.RegisterRequest) (*lease.RegisterResponse, error) {
	l.registrations++
	var resp lease.RegisterResponse
	err := l.call(ctx, message{"register", l.registrations, fmt.Sprintf("/workflows/%d/runners", workflowID), answerTime}, req, &resp)
	return &resp, err
}

func (l *link) Turn(ctx context.Context, id int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	var resp lease.TurnResponse
	wait := time.Duration(req.WaitSeconds * float64(time.Second))
	if err := l.call(ctx, message{"turn", req.Turn, fmt.Sprintf("/runners/%d/turn", id), wait + answerTime}, req, &resp); err != nil {
		return nil, err
	}
	l.recordAnswer(req, &resp)
	return &resp, nil
}

func (l *link) Leave(ctx context.Context, id int64, req *lease.LeaveRequest) (*lease.LeaveResponse, error) {
	var resp lease.LeaveResponse
	err := l.call(ctx, message{"leave", 1, fmt.Sprintf("/runners/%d/leave", id), answerTime}, req, &resp)
	return &resp, err
}

// FailedWorkflow requests what jobs of a compensation are told, until it is answered.
func (l *link) FailedWorkflow(ctx context.Context, workflowID int64) (*stage.FailedWorkflow, error) {
	for {
		l.questions++
		var page api.FailedWorkflowPage
		path := fmt.Sprintf("/workflows/%d/failed_workflow", workflowID)
		err := l.call(ctx, message{"failed_workflow", l.questions, path, answerTime}, nil, &page)
		if err == nil {
			return &page.Workflow, nil
		}
		if sleep(ctx, 5*time.Second) != nil {
			return nil, err
		}
	}
}

// message is one call of a runner. Without a body it is a query.
type message struct {
	kind     string
	number   int64
	path     string
	patience time.Duration
}

// call carries a message to the daemon that lives when it arrives, and its answer back,
// unless one of them is lost.
func (l *link) call(ctx context.Context, m message, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	method, body := http.MethodGet, []byte(nil)
	if in != nil {
		var err error
		method = http.MethodPost
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	c := l.seed.of("message", l.runner, m.kind, m.number)
	w := l.weather()
	up, down := l.delay(c, w), l.delay(c, w)
	lostUp, lostDown, doubled, again := c.is(w.lost), c.is(w.lost), c.is(w.doubled), c.spread(time.Millisecond, 40*time.Minute)
	if err := sleep(ctx, up); err != nil {
		return err
	}
	if doubled {
		l.group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), m.patience)
			defer cancel()
			if sleep(l.life, again) == nil {
				l.note("%s: %s %d arrives again", l.runner, m.kind, m.number)
				_, _ = l.serve(ctx, method, l.secret, m.path, body, 0)
			}
		})
	}
	if lostUp || l.isCut(l.node) {
		l.note("%s: %s %d is lost", l.runner, m.kind, m.number)
		return silence(ctx)
	}
	l.note("%s: %s %d arrives", l.runner, m.kind, m.number)
	answer, err := l.serve(ctx, method, l.secret, m.path, body, down)
	if err != nil {
		return err
	}
	if lostDown || l.isCut(l.node) {
		l.note("%s: the answer to %s %d is lost", l.runner, m.kind, m.number)
		return silence(ctx)
	}
	l.note("%s: %s %d is answered: %d %s", l.runner, m.kind, m.number, answer.Code, answer.Body.String())
	if answer.Code >= http.StatusBadRequest {
		return &client.APIError{Status: answer.Code, Message: answer.Body.String()}
	}
	return json.Unmarshal(answer.Body.Bytes(), out)
}

// serve passes a request to the daemon. The answer, which takes a while to come back, is
// lost if the daemon dies while it answers.
func (w *world) serve(caller context.Context, method, secret, path string, body []byte, down time.Duration) (*httptest.ResponseRecorder, error) {
	d := w.present()
	if d == nil {
		return nil, errors.New("simulated: connection refused")
	}
	ctx, cancel := context.WithCancel(caller)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	r := httptest.NewRequestWithContext(ctx, method, api.BasePath+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+secret)
	answer := httptest.NewRecorder()
	gone := func() (isGone bool) {
		defer func() {
			if p := recover(); p != nil {
				if p != http.ErrAbortHandler { //nolint:errorlint // the value itself is thrown
					panic(p)
				}
				isGone = true
			}
		}()
		d.Handler().ServeHTTP(answer, r)
		return false
	}()
	answered := time.Now()
	if err := sleep(caller, down); err != nil {
		return nil, err
	}
	if gone || d.diedBy(answered) {
		return nil, errors.New("simulated: connection reset")
	}
	return answer, nil
}

// delay returns how long a message is in transit.
func (w *world) delay(c chance, weather weather) time.Duration {
	if c.is(weather.slow) {
		return c.spread(50*time.Millisecond, weather.slowest)
	}
	return c.spread(200*time.Microsecond, 50*time.Millisecond)
}

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// silence waits until the caller gives up.
func silence(ctx context.Context) error {
	<-ctx.Done()
	return errNetwork
}

// recordAnswer records what the daemon has acknowledged.
func (l *link) recordAnswer(req *lease.TurnRequest, resp *lease.TurnResponse) {
	if len(resp.Grants) > 0 && resp.RunID != req.RunID {
		l.violated("%s of run %d is granted jobs of run %d", l.runner, req.RunID, resp.RunID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[l.runner]++
	a := &l.acknowledged
	for _, g := range resp.Grants {
		l.told[leaseKey{g.JobID, g.Fence}] = true
		a.Grants = append(a.Grants, lease.LeaseRef(g.LeaseRef))
	}
	for i, r := range req.Reports {
		if i < len(resp.Results) && resp.Results[i].Outcome != lease.Refused {
			a.Reports = append(a.Reports, check.SpooledReport{RunID: req.RunID, LeaseRef: lease.LeaseRef(r.LeaseRef), EndedMS: r.EndedMS, Answered: true})
		}
	}
}
