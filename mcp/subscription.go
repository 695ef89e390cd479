package mcp

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// quietTime is the least time between two notifications about a resource.
const quietTime = time.Second

// mostSubscriptions limits the resources that are subscribed to at a time.
const mostSubscriptions = 100

// subscriptions are the live resources that agents want to be told about. Each has a
// goroutine that reads the events of its workflow.
type subscriptions struct {
	server *Server
	mu     sync.Mutex
	by     map[string]*subscription // by address
	all    sync.WaitGroup
}

type subscription struct {
	agents int
	cancel context.CancelFunc
}

// subscribe begins to tell an agent about a resource.
func (b *subscriptions) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	uri := req.Params.URI
	kind, id, err := parseLive(uri)
	if err != nil {
		return sdk.ResourceNotFoundError(uri)
	}
	daemon, err := b.server.Connect(ctx)
	if err != nil {
		return err
	}
	if kind == liveLog {
		job, err := daemon.Jobs.Get(ctx, id)
		if err != nil {
			return subscribeError(uri, err)
		}
		id = job.WorkflowID
	}
	after, err := latestEvent(ctx, daemon, id)
	if err != nil {
		return subscribeError(uri, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.by[uri]; s != nil {
		s.agents++
		return nil
	}
	if len(b.by) >= mostSubscriptions {
		return workflow.Errorf(workflow.CodeConflict, "%d resources are subscribed to, which is the limit", mostSubscriptions)
	}
	follow, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.by[uri] = &subscription{agents: 1, cancel: cancel}
	b.all.Go(func() { b.follow(follow, daemon, uri, id, after) })
	return nil
}

// latestEvent returns the seq of the latest event of a workflow; 0 if there is none.
func latestEvent(ctx context.Context, daemon *client.Client, workflowID int64) (int64, error) {
	for e, err := range daemon.Events.List(ctx, client.EventFilter{Page: client.Page{Limit: 1, SortBy: "id", Reverse: true}, WorkflowID: workflowID}) {
		return value(e.Seq), err
	}
	return 0, nil
}

func subscribeError(uri string, err error) error {
	if problemOf(err).Code == workflow.CodeNotFound {
		return sdk.ResourceNotFoundError(uri)
	}
	return err
}

// follow tells agents about a resource when something happens in its workflow, until ctx
// ends or the daemon is gone for good.
func (b *subscriptions) follow(ctx context.Context, daemon *client.Client, uri string, workflowID, after int64) {
	var last time.Time
	for _, err := range daemon.Events.Stream(ctx, workflowID, client.StreamOptions{Level: "info", After: &after}) {
		if err != nil {
			if ctx.Err() == nil {
				b.server.Log.Warn("a subscription has ended", "uri", uri, "error", err)
			}
			return
		}
		if wait := quietTime - time.Since(last); wait > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		last = time.Now()
		if err := b.server.server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			b.server.Log.Debug("a notification was not delivered", "uri", uri, "error", err)
		}
	}
}

// unsubscribe ends what subscribe began.
func (b *subscriptions) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.by[req.Params.URI]
	if s == nil {
		return nil
	}
	if s.agents--; s.agents == 0 {
		s.cancel()
		delete(b.by, req.Params.URI)
	}
	return nil
}

// close ends all subscriptions and waits for them.
func (b *subscriptions) close() {
	b.mu.Lock()
	for uri, s := range b.by {
		s.cancel()
		delete(b.by, uri)
	}
	b.mu.Unlock()
	b.all.Wait()
}
