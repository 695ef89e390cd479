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

// share returns a database whose reads use the writer's connection between the
// writer's transactions. It is for files that can be open only once. A read
// keeps the writer waiting until its rows are closed, and must not be made
// while another read of the same goroutine is open.
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

// sharedConnector hands out the one connection as often as asked.
type sharedConnector struct {
	turn      *sync.Mutex
	conn      *sqlite3.SQLiteConn
	translate func(query string) string
	noticed   func(error) // of each read that fails
}

// Connect implements driver.Connector.
func (c sharedConnector) Connect(context.Context) (driver.Conn, error) {
	return &sharedConn{sharedConnector: c}, nil
}

// Driver implements driver.Connector.
func (c sharedConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// sharedConn is one reader's view of the connection. It has the turn while it
// reads rows, or from the begin to the end of a transaction.
type sharedConn struct {
	sharedConnector
	inTx bool
}

// Prepare implements driver.Conn; readers do not prepare.
func (c *sharedConn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("a shared connection prepares nothing")
}

// Close implements driver.Conn. The connection is the writer's.
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

// exec runs a statement to its end: a context that ends in the middle would
// interrupt whoever uses the connection then.
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

// sharedRows gives the turn back when they are closed.
type sharedRows struct {
	driver.Rows
	release func()
}

// Close implements driver.Rows.
func (r *sharedRows) Close() error {
	defer r.release()
	return r.Rows.Close()
}
