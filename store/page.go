package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Page says which part of a list is wanted, in which order.
type Page struct {
	Offset  int64
	Limit   int64
	SortBy  string // a field's name on the wire; one that cannot be sorted by means id
	Reverse bool
}

// filter collects the conditions of a WHERE clause and their arguments.
type filter struct {
	conditions []string
	args       []any
}

// where starts a filter with one condition.
func where(condition string, args ...any) *filter {
	f := &filter{}
	f.add(condition, args...)
	return f
}

// add requires one more condition.
func (f *filter) add(condition string, args ...any) {
	f.conditions = append(f.conditions, condition)
	f.args = append(f.args, args...)
}

// equal requires that a column has the value that p points to, if p is given.
func equal[T any](f *filter, column string, p *T) {
	if p != nil {
		f.add(column+" = ?", *p)
	}
}

// contains requires that a column contains text, without regard to the case of
// ASCII letters, if text is given.
func contains(f *filter, column string, text *string) {
	if text != nil {
		escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(*text)
		f.add(column+` LIKE ? ESCAPE '\'`, "%"+escaped+"%")
	}
}

func (f *filter) sql() string {
	if len(f.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.conditions, " AND ")
}

// list is a query for one page of a list.
type list struct {
	columns  string            // what scan reads
	from     string            // table, with its joins
	filter   *filter           // may be nil
	sortable map[string]string // name on the wire to SQL expression; nil: fixed order
	id       string            // the expression that makes the order total; several are separated by commas
	page     Page
}

// order makes the ORDER BY clause: the wanted column, then the id, so that
// rows that are equal keep their place from page to page.
func (l *list) order() string {
	direction := " ASC"
	if l.page.Reverse {
		direction = " DESC"
	}
	keys := strings.Split(l.id, ",")
	if column, ok := l.sortable[l.page.SortBy]; ok && column != l.id {
		keys = append([]string{column}, keys...)
	}
	return " ORDER BY " + strings.Join(keys, direction+", ") + direction
}

// readList returns a page of rows and how many there are in all, both as of
// one moment.
func readList[T any](ctx context.Context, db *sql.DB, l list, scan func(rowScanner) (T, error)) (items []T, total int64, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", l.from, err)
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	return readPage(ctx, tx, l, scan)
}

// readPage is readList within a transaction.
func readPage[T any](ctx context.Context, tx *sql.Tx, l list, scan func(rowScanner) (T, error)) (items []T, total int64, err error) {
	if l.filter == nil {
		l.filter = &filter{}
	}
	count := "SELECT COUNT(*) FROM " + l.from + l.filter.sql()
	if err := tx.QueryRowContext(ctx, count, l.filter.args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count %s: %w", l.from, err)
	}
	query := "SELECT " + l.columns + " FROM " + l.from + l.filter.sql() + l.order() + " LIMIT ? OFFSET ?"
	rows, err := tx.QueryContext(ctx, query, append(l.filter.args, l.page.Limit, l.page.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", l.from, err)
	}
	items, err = collect(rows, scan)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", l.from, err)
	}
	return items, total, nil
}

// rowScanner is *sql.Row or *sql.Rows.
type rowScanner interface {
	Scan(dest ...any) error
}

// collect reads and closes rows.
func collect[T any](rows *sql.Rows, scan func(rowScanner) (T, error)) ([]T, error) {
	defer rows.Close()
	var items []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}
