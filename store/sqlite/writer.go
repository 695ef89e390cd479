package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torc-slurm/torc-slurm/store/dbfile"
)

// A use case runs in a savepoint of a transaction that it shares with others that arrived
// during the previous commit (group commit). It is answered after COMMIT.
type useCase struct {
	name string
	fn   func(*Tx) error
	err  error
	tx   *Tx
	done chan struct{}
}

// Limits of a shared transaction.
const (
	maxGroup     = 128
	maxGroupTime = 20 * time.Millisecond
)

// errClosed is the error of a use case after Close.
var errClosed = errors.New("the database is closed")

// writer is the only writer. Its goroutine owns the connection; others send it use cases.
type writer struct {
	path      string
	db        *sql.DB
	conn      *sql.Conn
	stmts     map[string]*sql.Stmt
	now       func() time.Time
	log       *slog.Logger
	onCommit  func([]any)
	forget    func()
	translate func(string) string
	prepared  func(string)
	failpoint func(string)
	groupTime time.Duration // a group that is older takes no further use case
	epoch     int64         // of our ownership; 0 without an owner

	turn   sync.Mutex // held while the connection is used
	shared bool       // with readers

	mu     sync.RWMutex // guards closed against sends
	closed bool
	queue  chan *useCase
	exit   chan struct{}

	commits, useCases atomic.Int64 // since the start

	files *dbfile.Files // the file and its journal; nil in memory
	halt  halt
}

func newWriter(db *sql.DB, conn *sql.Conn, epoch int64, files *dbfile.Files, o Options) *writer {
	w := &writer{
		path: cmp.Or(o.Path, "in memory"), db: db, conn: conn, stmts: map[string]*sql.Stmt{}, now: o.Now, log: o.Log,
		onCommit: o.OnCommit, forget: o.Forget, translate: o.Translate, prepared: o.Prepared, failpoint: o.Failpoint, epoch: epoch, files: files,
		groupTime: maxGroupTime,
		queue:     make(chan *useCase, maxGroup), exit: make(chan struct{}),
		halt: halt{lost: make(chan struct{})},
	}
	go w.loop()
	return w
}

// do runs a use case; see DB.Do.
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
	return Fault(w.path, u.err)
}

// stop rejects further use cases, and returns when the accepted ones are done.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.exit
}

// close closes the connection of a stopped writer.
func (w *writer) close() error {
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	w.stmts = nil
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
}

func (w *writer) loop() {
	defer close(w.exit)
	for first := range w.queue {
		w.group(first)
	}
}

// group runs first and all waiting use cases in one transaction.
func (w *writer) group(first *useCase) {
	w.turn.Lock()
	group, err := w.together(first)
	switch halted := w.halt.reason(); {
	case err != nil && halted != nil:
		for _, u := range group {
			u.err, u.tx = halted, nil
		}
	case err != nil:
		w.log.Warn("shared transaction failed, running its use cases alone", "use_cases", len(group), "error", err)
		for _, u := range group {
			u.err = w.alone(u)
		}
	}
	w.turn.Unlock()
	w.commits.Add(1)
	w.useCases.Add(int64(len(group)))
	if announced := announcedBy(group); len(announced) > 0 {
		w.onCommit(announced)
	}
	w.failpoint("store.answer.before")
	for _, u := range group {
		close(u.done)
	}
	w.failpoint("store.answer.after")
}

// announcedBy returns what the successful use cases of a group announced.
func announcedBy(group []*useCase) (announced []any) {
	for _, u := range group {
		if u.err == nil && u.tx != nil && u.tx.announced != nil {
			announced = append(announced, u.tx.announced)
		}
	}
	return announced
}

// together runs a group up to its COMMIT. On an error the group is rolled back, and none of
// its use cases is answered.
func (w *writer) together(first *useCase) (group []*useCase, err error) {
	group = append(group, first)
	if first.err = w.begin(); first.err != nil {
		return group, nil //nolint:nilerr // the group is answered: it would not start alone either
	}
	end := time.Now().Add(w.groupTime)
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
	if err := w.commit(); err != nil {
		return group, err
	}
	return group, nil
}

// alone runs one use case in its own transaction and returns its error.
func (w *writer) alone(u *useCase) error {
	if err := w.begin(); err != nil {
		return fmt.Errorf("%s: %w", u.name, err)
	}
	if err := w.savepoint(u); err != nil {
		w.rollback()
		return fmt.Errorf("%s: %w", u.name, err)
	}
	if err := w.commit(); err != nil {
		return fmt.Errorf("%s: %w", u.name, err)
	}
	return u.err
}

// begin starts a transaction of the owner.
func (w *writer) begin() error {
	if err := w.halt.reason(); err != nil {
		return err
	}
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return cmp.Or(w.noticed(err), fmt.Errorf("begin: %w", err))
	}
	if err := w.owns(); err != nil {
		w.rollback()
		return cmp.Or(w.noticed(err), err)
	}
	return nil
}

// commit ends the transaction, whether it succeeds or not. The commit counts only if the
// file still has its name then: otherwise the changes would be lost.
func (w *writer) commit() error {
	w.failpoint("store.commit.before")
	if err := w.halt.reason(); err != nil { // a reader has found damage meanwhile
		w.rollback()
		return err
	}
	if err := w.requireFile(w.rollback); err != nil {
		return err
	}
	if err := w.exec("COMMIT"); err != nil {
		w.rollback()
		return cmp.Or(w.noticed(err), fmt.Errorf("commit: %w", err))
	}
	w.failpoint("store.commit.after")
	return w.requireFile(func() {})
}

// savepoint runs u. Its failure is rolled back and stored in u.err; the returned error says
// that the whole transaction failed.
func (w *writer) savepoint(u *useCase) error {
	u.tx, u.err = &Tx{w: w, NowMS: w.now().UnixMilli()}, nil
	if err := w.exec("SAVEPOINT use_case"); err != nil {
		return err
	}
	if err := u.run(); err != nil {
		if u.tx.cached {
			w.forget()
		}
		u.err, u.tx = err, nil
		if damage := w.noticed(err); damage != nil {
			return damage
		}
		if e := w.exec("ROLLBACK TO use_case"); e != nil {
			return fmt.Errorf("%s: roll back after %w: %w", u.name, err, e)
		}
	}
	return w.exec("RELEASE use_case")
}

// run calls the use case. A panic is an error like any other: it is rolled back, and other
// use cases continue.
func (u *useCase) run() (err error) {
	tx := u.tx
	defer func() {
		if p := recover(); p != nil {
			tx.w.log.Error("use case panicked", "use_case", u.name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", u.name, p)
		}
		if tx.closeRows() && err == nil {
			err = fmt.Errorf("%s: %w at its end", u.name, errOpenRows)
		}
	}()
	return u.fn(tx)
}

func (w *writer) rollback() {
	w.forget()
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

// stmt returns the prepared statement for a query. Each text is prepared once and kept, so
// it must be a constant or one of few variants.
func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if s, ok := w.stmts[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), w.translate(query))
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	w.stmts[query] = s
	w.prepared(query)
	return s, nil
}
