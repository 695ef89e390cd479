// Package hub wakes requests that wait for commits.
package hub

import (
	"container/list"
	"sync"

	"github.com/torc-slurm/torc-slurm/store"
)

// Topic is something that requests wait for.
type Topic struct {
	kind topicKind
	id   int64
}

type topicKind uint8

const (
	topicEvents topicKind = iota
	topicWork
	topicRunner
)

// EventsOf returns the topic of new events of a workflow.
func EventsOf(workflowID int64) Topic { return Topic{topicEvents, workflowID} }

// WorkOf returns the topic of new ready jobs, or the end, of a workflow.
func WorkOf(workflowID int64) Topic { return Topic{topicWork, workflowID} }

// RunnerOf returns the topic of changed leases or orders of a runner.
func RunnerOf(runnerID int64) Topic { return Topic{topicRunner, runnerID} }

// Hub wakes waiting requests after commits. It carries no data: a woken request reads the
// store, so nothing can be lost or overflow.
type Hub struct {
	mu   sync.Mutex
	subs map[Topic]*list.List // of *Subscription; the longest waiting is first
}

// New returns a hub without subscriptions.
func New() *Hub {
	return &Hub{subs: map[Topic]*list.List{}}
}

// Subscription is a waiting request. C has a value if a topic was touched since the last
// receive.
type Subscription struct {
	C      <-chan struct{}
	c      chan struct{}
	hub    *Hub
	topics []topicEntry
}

// topicEntry is the list element of a subscription for a topic.
type topicEntry struct {
	topic Topic
	place *list.Element
}

// Subscribe returns a subscription to topics. The caller must Close it.
func (h *Hub) Subscribe(topics ...Topic) *Subscription {
	c := make(chan struct{}, 1)
	sub := &Subscription{C: c, c: c, hub: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		if h.subs[t] == nil {
			h.subs[t] = list.New()
		}
		sub.topics = append(sub.topics, topicEntry{t, h.subs[t].PushBack(sub)})
	}
	return sub
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	for _, entry := range s.topics {
		waiting := s.hub.subs[entry.topic]
		waiting.Remove(entry.place)
		if waiting.Len() == 0 {
			delete(s.hub.subs, entry.topic)
		}
	}
	s.topics = nil
}

// Publish wakes the subscriptions that a commit concerns. It never blocks, so that
// store.Options.OnCommit can call it.
func (h *Hub) Publish(c store.Changes) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range c.Events {
		h.touch(EventsOf(id))
	}
	for _, id := range c.Ready {
		h.touch(WorkOf(id))
	}
	for _, id := range c.Ended {
		h.touch(WorkOf(id))
	}
	for _, id := range c.Runners {
		h.touch(RunnerOf(id))
	}
}

// Wake wakes the subscriptions to a topic without a commit.
func (h *Hub) Wake(t Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.touch(t)
}

func (h *Hub) touch(t Topic) {
	waiting := h.subs[t]
	if waiting == nil {
		return
	}
	for e := waiting.Front(); e != nil; e = e.Next() {
		select {
		case e.Value.(*Subscription).c <- struct{}{}:
		default: // it has not received the last value yet
		}
	}
}
