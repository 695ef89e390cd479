package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/mattn/go-sqlite3"
)

// share returns a database whose reads use the writer's connection between its
// transactions, for files that can be opened only once. A read blocks the writer until its
// rows are closed. A goroutine must not read while another read of it is open.
func (w *writer) share() (*sql.DB, error) {
	var c sharedConnector
	err := w.conn.Raw(func(conn any) error {
		sqlite, ok := conn.(*sqlite3.SQLiteConn)
		if !ok {
			return fmt.Errorf("the connection is a %T", conn)
		}
		c = sharedConnector{turn: &w.turn, conn: sqlite, translate: w.translate, noticed: func(err error) { _ = w.noticed(err) }} // the reader gets its own error
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("share the connection to %s: %w", w.path, err)
	}
	w.shared = true
	return sql.OpenDB(c), nil
}

// sharedConnector returns the same connection every time.
type sharedConnector struct {
	turn      *sync.Mutex
	conn      *sqlite3.SQLiteConn
	translate func(query string) string
	noticed   func(error) // called with the error of each failed read
}

// Connect implements driver.Connector.
func (c sharedConnector) Connect(context.Context) (driver.Conn, error) {
	return &sharedConn{sharedConnector: c}, nil
}

// Driver implements driver.Connector.
func (c sharedConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// sharedConn is a reader's view of the connection. It holds the turn while it reads rows,
// or from the start to the end of a transaction.
type sharedConn struct {
	sharedConnector
	inTx bool
}

// Prepare is not supported; readers do not prepare.
func (c *sharedConn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("a shared connection cannot prepare statements")
}

// Close does nothing: the connection belongs to the writer.
func (c *sharedConn) Close() error { return nil }

// Begin implements driver.Conn.
func (c *sharedConn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *sharedConn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	c.turn.Lock()
	if err := c.exec(ctx, "BEGIN"); err != nil {
		c.turn.Unlock()
		return nil, err
	}
	c.inTx = true
	return c, nil
}

// Commit implements driver.Tx.
func (c *sharedConn) Commit() error { return c.end("COMMIT") }

// Rollback implements driver.Tx.
func (c *sharedConn) Rollback() error { return c.end("ROLLBACK") }

func (c *sharedConn) end(how string) error {
	defer c.turn.Unlock()
	c.inTx = false
	return c.exec(context.Background(), how)
}

// exec runs a statement to its end: canceling a context would interrupt whoever uses the
// connection by then.
func (c *sharedConn) exec(ctx context.Context, query string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := c.conn.ExecContext(context.Background(), query, nil)
	return err
}

// QueryContext implements driver.QueryerContext.
func (c *sharedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	release := func() {}
	if !c.inTx {
		c.turn.Lock()
		release = c.turn.Unlock
	}
	if err := ctx.Err(); err != nil {
		release()
		return nil, err
	}
	rows, err := c.conn.QueryContext(context.Background(), c.translate(query), args)
	if err != nil {
		release()
		c.noticed(err)
		return nil, err
	}
	return &sharedRows{Rows: noticedRows{rows, c.noticed}, release: release}, nil
}

// sharedRows gives back the turn when they are closed.
type sharedRows struct {
	driver.Rows
	release func()
}

// Close implements driver.Rows.
func (r *sharedRows) Close() error {
	defer r.release()
	return r.Rows.Close()
}
