package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// readConnector opens the connections of readers. It reports their errors, since a reader
// may be the first to find the file damaged.
type readConnector struct {
	name      string
	translate func(query string) string
	noticed   func(error)
}

// Connect implements driver.Connector.
func (c readConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.name)
	if err != nil {
		return nil, err
	}
	sqlite, ok := conn.(*sqlite3.SQLiteConn)
	if !ok {
		return nil, fmt.Errorf("the connection is a %T", conn)
	}
	return &readConn{sqlite, c.translate, c.noticed}, nil
}

// Driver implements driver.Connector.
func (c readConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

type readConn struct {
	*sqlite3.SQLiteConn
	translate func(query string) string
	noticed   func(error)
}

func (c *readConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.SQLiteConn.QueryContext(ctx, c.translate(query), args)
	if err != nil {
		c.noticed(err)
		return nil, err
	}
	return noticedRows{rows, c.noticed}, nil
}

// noticedRows reports errors of rows.
type noticedRows struct {
	driver.Rows
	noticed func(error)
}

// Next implements driver.Rows.
func (r noticedRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err != nil {
		r.noticed(err) // including io.EOF, which is ignored
	}
	return err
}
