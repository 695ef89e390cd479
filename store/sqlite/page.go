package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Page is a part of a list, and its order.
type Page struct {
	Offset  int64
	Limit   int64
	SortBy  string // name of a field in the API; an unknown one means id
	Reverse bool
}

// Filter collects the conditions of a WHERE clause and their arguments.
type Filter struct {
	conditions []string
	args       []any
}

// Where returns a Filter with one condition.
func Where(condition string, args ...any) *Filter {
	f := &Filter{}
	f.Add(condition, args...)
	return f
}

// Add adds a condition.
func (f *Filter) Add(condition string, args ...any) {
	f.conditions = append(f.conditions, condition)
	f.args = append(f.args, args...)
}

// Equal adds that a column equals *p, unless p is nil.
func Equal[T any](f *Filter, column string, p *T) {
	if p != nil {
		f.Add(column+" = ?", *p)
	}
}

// Contains adds that a column contains a text, ignoring the case of ASCII letters, unless
// text is nil.
func Contains(f *Filter, column string, text *string) {
	if text != nil {
		escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(*text)
		f.Add(column+` LIKE ? ESCAPE '\'`, "%"+escaped+"%")
	}
}

func (f *Filter) sql() string {
	if len(f.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.conditions, " AND ")
}

// List is a query for one page of a list.
type List struct {
	Columns  string            // what scan reads
	From     string            // table, with its joins
	Filter   *Filter           // may be nil
	Sortable map[string]string // name in the API to SQL expression; nil: fixed order
	ID       string            // makes the order total; several expressions are comma-separated
	Page     Page
}

// order returns the ORDER BY clause: the wanted column, then the id, so that equal rows
// keep their order from page to page.
func (l *List) order() string {
	direction := " ASC"
	if l.Page.Reverse {
		direction = " DESC"
	}
	keys := strings.Split(l.ID, ",")
	if column, ok := l.Sortable[l.Page.SortBy]; ok && column != l.ID {
		keys = append([]string{column}, keys...)
	}
	return " ORDER BY " + strings.Join(keys, direction+", ") + direction
}

// ReadList returns a page of rows and the total number, in one snapshot.
func ReadList[T any](ctx context.Context, db *sql.DB, l List, scan func(Scanner) (T, error)) (items []T, total int64, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", l.From, err)
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	return ReadPage(ctx, tx, l, scan)
}

// ReadPage is ReadList within a transaction.
func ReadPage[T any](ctx context.Context, tx *sql.Tx, l List, scan func(Scanner) (T, error)) (items []T, total int64, err error) {
	if l.Filter == nil {
		l.Filter = &Filter{}
	}
	count := "SELECT COUNT(*) FROM " + l.From + l.Filter.sql()
	if err := tx.QueryRowContext(ctx, count, l.Filter.args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count %s: %w", l.From, err)
	}
	query := "SELECT " + l.Columns + " FROM " + l.From + l.Filter.sql() + l.order() + " LIMIT ? OFFSET ?"
	items, err = SelectContext(ctx, tx, scan, query, append(l.Filter.args, l.Page.Limit, l.Page.Offset)...)
	return items, total, Wrap(err, "list %s", l.From)
}

// EachContext runs a SELECT of a reader and calls f with every row.
func EachContext(ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, f func(Scanner) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	return each(rows, err, f)
}

// each calls f with every row of a query and closes the rows.
func each(rows *sql.Rows, err error, f func(Scanner) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Scanner is *sql.Row or *sql.Rows.
type Scanner interface {
	Scan(dest ...any) error
}

// Collect reads all rows and closes them.
func Collect[T any](rows *sql.Rows, scan func(Scanner) (T, error)) ([]T, error) {
	return collect(rows, nil, scan)
}

// collect reads all rows of a query and closes them.
func collect[T any](rows *sql.Rows, err error, scan func(Scanner) (T, error)) ([]T, error) {
	var items []T
	err = each(rows, err, func(r Scanner) error {
		item, err := scan(r)
		items = append(items, item)
		return err
	})
	if err != nil {
		return nil, err
	}
	return items, nil
}

// Select runs a SELECT in the transaction of a use case and reads all rows.
func Select[T any](tx interface {
	Query(query string, args ...any) (*sql.Rows, error)
}, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.Query(query, args...)
	return collect(rows, err, scan)
}

// SelectContext runs a SELECT of a reader, a *sql.DB or *sql.Tx, and reads all rows.
func SelectContext[T any](ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	return collect(rows, err, scan)
}

// ScanString reads a row of one text.
func ScanString(r Scanner) (s string, err error) { return s, r.Scan(&s) }
