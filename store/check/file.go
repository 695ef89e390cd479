package check

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// file checks the pages, the foreign keys and the schema.
func (c *checker) file() error {
	err := c.Each(fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFindings), func(r sqlite.Scanner) error {
		line, err := sqlite.ScanString(r)
		if err == nil && line != "ok" {
			c.found("file", "pages", "%s", line)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := c.foreignKeys(); err != nil {
		return err
	}
	return c.schema()
}

func (c *checker) foreignKeys() error {
	n := 0
	return c.Each(`PRAGMA foreign_key_check`, func(r sqlite.Scanner) error {
		var table, parent string
		var id, key sql.NullInt64 // null in a table without rowid
		if err := r.Scan(&table, &id, &parent, &key); err != nil {
			return err
		}
		if n++; n <= maxFindings {
			c.found("reference", fmt.Sprintf("%s %d", table, id.Int64), "refers to a row of %s that does not exist", parent)
		}
		return nil
	})
}

// schema compares the schema with that of a new database of this release.
func (c *checker) schema() error {
	want, err := freshSchema(c.ctx)
	if err != nil {
		return err
	}
	have, err := readSchema(c.ctx, c.tx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch text, there := have[name]; {
		case !there:
			c.found("P17", name, "is missing")
		case text != want[name]:
			c.found("P17", name, "is not what this release has: %s", text)
		}
	}
	return nil
}

// freshSchema returns the schema of a new database.
func freshSchema(ctx context.Context) (map[string]string, error) {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := sqlite.MakeSchema(ctx, conn); err != nil {
		return nil, err
	}
	return readSchema(ctx, conn)
}

type rowsQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readSchema returns the definitions of tables and indexes by their names.
func readSchema(ctx context.Context, q rowsQuerier) (map[string]string, error) {
	rows, err := q.QueryContext(ctx, `SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	type entry struct{ name, text string }
	entries, err := sqlite.Collect(rows, func(r sqlite.Scanner) (e entry, err error) { return e, r.Scan(&e.name, &e.text) })
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	schema := make(map[string]string, len(entries))
	for _, e := range entries {
		schema[e.name] = e.text
	}
	return schema, nil
}
