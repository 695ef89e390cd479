package runner

import (
	"fmt"
	"sync"
	"time"
)

// pool runs small tasks that may block (opening files on a slow file system,
// starting processes) on a fixed number of goroutines.
type pool struct {
	mu     sync.Mutex
	some   sync.Cond
	tasks  []func()
	closed bool
	wg     sync.WaitGroup
}

func newPool(workers int) *pool {
	p := &pool{}
	p.some.L = &p.mu
	for range workers {
		p.wg.Go(p.work)
	}
	return p
}

// do queues a task and returns at once.
func (p *pool) do(task func()) {
	p.mu.Lock()
	p.tasks = append(p.tasks, task)
	p.mu.Unlock()
	p.some.Signal()
}

// close waits until the queued tasks have ended. It returns an error after patience,
// since a task may hang in a file system for good.
func (p *pool) close(patience time.Duration) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.some.Broadcast()
	done := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("opening files or starting processes has not ended within %s", patience)
	}
}

func (p *pool) work() {
	for {
		p.mu.Lock()
		for len(p.tasks) == 0 && !p.closed {
			p.some.Wait()
		}
		if len(p.tasks) == 0 {
			p.mu.Unlock()
			return
		}
		task := p.tasks[0]
		p.tasks[0] = nil
		p.tasks = p.tasks[1:]
		p.mu.Unlock()
		task()
	}
}
