package store

import "strings"

// bulkRows is how many rows one statement of a bulk insert writes.
const bulkRows = 40

// bulk writes many rows of one table with few statements.
type bulk struct {
	tx    *Tx
	head  string // INSERT INTO ... VALUES
	tail  string // what follows the rows; may be empty
	width int    // values per row
	args  []any
}

func newBulk(tx *Tx, table, columns string) *bulk {
	return &bulk{
		tx: tx, head: "INSERT INTO " + table + " (" + columns + ") VALUES ",
		width: strings.Count(columns, ",") + 1,
	}
}

// add takes the values of one row. Whether they are acceptable may show only
// with a later row.
func (b *bulk) add(row ...any) error {
	b.args = append(b.args, row...)
	if len(b.args) < bulkRows*b.width {
		return nil
	}
	return b.write(bulkRows)
}

// flush writes the rows that were not written yet.
func (b *bulk) flush() error {
	for len(b.args) > 0 {
		if err := b.write(1); err != nil {
			return err
		}
	}
	return nil
}

// write writes the first n rows.
func (b *bulk) write(n int) error {
	row := "(" + strings.Repeat("?, ", b.width-1) + "?)"
	_, err := b.tx.exec(b.head+strings.Repeat(row+", ", n-1)+row+b.tail, b.args[:n*b.width]...)
	b.args = b.args[:copy(b.args, b.args[n*b.width:])]
	return err
}

// nextID returns the id that the next row of a table gets. The writer is alone,
// so that it may number several rows itself.
func (tx *Tx) nextID(table string) (id int64, err error) {
	err = tx.row(`SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = ?), 0) + 1`, []any{table}, &id)
	return id, err
}
