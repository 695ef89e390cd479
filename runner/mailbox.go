package runner

import "sync"

// mailbox carries messages to the goroutine that owns the runner's state. put never
// blocks, so that the reaper can continue.
type mailbox struct {
	mu    sync.Mutex
	items []any
	ready chan struct{} // holds one token while there may be messages
}

func newMailbox() *mailbox {
	return &mailbox{ready: make(chan struct{}, 1)}
}

// put adds a message.
func (m *mailbox) put(item any) {
	m.mu.Lock()
	m.items = append(m.items, item)
	first := len(m.items) == 1
	m.mu.Unlock()
	if first {
		select {
		case m.ready <- struct{}{}:
		default:
		}
	}
}

// take returns all messages in the order of their arrival. It uses spare as the next
// buffer.
func (m *mailbox) take(spare []any) []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = spare[:0]
	return items
}
