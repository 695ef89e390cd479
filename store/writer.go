package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A use case runs in a savepoint of a transaction that it shares with the use
// cases that arrived while the one before was being committed (group commit).
// Its answer leaves after COMMIT.
type useCase struct {
	name string
	fn   func(*Tx) error
	err  error
	tx   *Tx
	done chan struct{}
}

// Limits of one shared transaction.
const (
	maxGroup     = 128
	maxGroupTime = 20 * time.Millisecond
)

// errClosed is what a use case gets after Close.
var errClosed = errors.New("the database is closed")

// writer is the one writer. Its goroutine owns the connection and everything
// behind it; others send it use cases.
type writer struct {
	db        *sql.DB
	conn      *sql.Conn
	stmts     map[string]*sql.Stmt
	now       func() time.Time
	log       *slog.Logger
	onCommit  func(Changes)
	failpoint func(string)

	mu     sync.RWMutex // guards closed against sends
	closed bool
	queue  chan *useCase
	exit   chan struct{}
}

func newWriter(db *sql.DB, conn *sql.Conn, o Options) *writer {
	w := &writer{
		db: db, conn: conn, stmts: map[string]*sql.Stmt{}, now: o.Now, log: o.Log,
		onCommit: o.OnCommit, failpoint: o.Failpoint,
		queue: make(chan *useCase, maxGroup), exit: make(chan struct{}),
	}
	go w.loop()
	return w
}

// do runs a use case and returns after its commit. fn may run twice; only the
// effects of one run remain, so it must set its results afresh.
func (w *writer) do(name string, fn func(*Tx) error) error {
	u := &useCase{name: name, fn: fn, done: make(chan struct{})}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return errClosed
	}
	w.queue <- u
	w.mu.RUnlock()
	<-u.done
	return u.err
}

func (w *writer) close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	close(w.queue)
	w.mu.Unlock()
	<-w.exit
	for _, s := range w.stmts {
		s.Close()
	}
	err := w.conn.Close()
	if e := w.db.Close(); err == nil {
		err = e
	}
	return err
}

func (w *writer) loop() {
	defer close(w.exit)
	for first := range w.queue {
		w.group(first)
	}
}

// group runs first and whatever else is waiting in one transaction.
func (w *writer) group(first *useCase) {
	group, err := w.together(first)
	if err != nil {
		w.log.Warn("shared transaction failed, running its use cases alone", "use_cases", len(group), "error", err)
		for _, u := range group {
			u.err = w.alone(u)
		}
	}
	changes := changesOf(group)
	if !changes.empty() {
		w.onCommit(changes)
	}
	w.failpoint("store.answer.before")
	for _, u := range group {
		close(u.done)
	}
	w.failpoint("store.answer.after")
}

// together runs a group up to its COMMIT. An error means that nothing of it
// remains and that no use case of the group has its answer.
func (w *writer) together(first *useCase) (group []*useCase, err error) {
	group = append(group, first)
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return group, err
	}
	end := time.Now().Add(maxGroupTime)
	for next := first; next != nil; {
		if err := w.savepoint(next); err != nil {
			w.rollback()
			return group, err
		}
		if next = nil; len(group) < maxGroup && time.Now().Before(end) {
			select {
			case u, ok := <-w.queue:
				if ok {
					next, group = u, append(group, u)
				}
			default:
			}
		}
	}
	w.failpoint("store.commit.before")
	if err := w.exec("COMMIT"); err != nil {
		w.rollback()
		return group, fmt.Errorf("commit: %w", err)
	}
	w.failpoint("store.commit.after")
	return group, nil
}

// alone runs one use case in a transaction of its own and returns its error.
func (w *writer) alone(u *useCase) error {
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("%s: %w", u.name, err)
	}
	if err := w.savepoint(u); err != nil {
		w.rollback()
		return fmt.Errorf("%s: %w", u.name, err)
	}
	if err := w.exec("COMMIT"); err != nil {
		w.rollback()
		u.tx = nil
		return fmt.Errorf("%s: commit: %w", u.name, err)
	}
	return u.err
}

// savepoint runs u. Its own failure is undone and kept in u.err; the returned
// error says that the transaction itself is lost.
func (w *writer) savepoint(u *useCase) error {
	u.tx, u.err = &Tx{w: w, nowMS: w.now().UnixMilli()}, nil
	if err := w.exec("SAVEPOINT use_case"); err != nil {
		return err
	}
	err := u.fn(u.tx)
	if err == nil {
		err = u.tx.flush()
	}
	if err != nil {
		u.err, u.tx = err, nil
		if e := w.exec("ROLLBACK TO use_case"); e != nil {
			return fmt.Errorf("%s: roll back after %w: %w", u.name, err, e)
		}
	}
	return w.exec("RELEASE use_case")
}

func (w *writer) rollback() {
	if err := w.exec("ROLLBACK"); err != nil {
		w.log.Debug("rollback", "error", err)
	}
}

func (w *writer) exec(query string) error {
	s, err := w.stmt(query)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(context.Background())
	return err
}

// stmt returns the prepared statement for a query, which must be literal or
// one of few variants.
func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if s, ok := w.stmts[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	w.stmts[query] = s
	return s, nil
}
