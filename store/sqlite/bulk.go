package sqlite

import "strings"

// BulkRows is the number of rows per statement of a bulk insert.
const BulkRows = 40

// Bulk writes many rows of one table with few statements.
type Bulk struct {
	tx    *Tx
	head  string // INSERT INTO ... VALUES
	Tail  string // what follows the rows; may be empty
	width int    // values per row
	args  []any
}

// NewBulk returns a Bulk that inserts rows with these columns, which are comma-separated.
func (tx *Tx) NewBulk(table, columns string) *Bulk {
	return tx.NewBulkStatement(strings.Count(columns, ",")+1, "INSERT INTO "+table+" ("+columns+") VALUES ", "")
}

// NewBulkStatement returns a Bulk for rows of width values, written between head and tail
// of a statement.
func (tx *Tx) NewBulkStatement(width int, head, tail string) *Bulk {
	return &Bulk{tx: tx, width: width, head: head, Tail: tail}
}

// Add adds one row. Its error may concern an earlier row.
func (b *Bulk) Add(row ...any) error {
	b.args = append(b.args, row...)
	if len(b.args) < BulkRows*b.width {
		return nil
	}
	return b.write(BulkRows)
}

// Flush writes the remaining rows.
func (b *Bulk) Flush() error {
	for len(b.args) > 0 {
		if err := b.write(1); err != nil {
			return err
		}
	}
	return nil
}

// write writes the first n rows.
func (b *Bulk) write(n int) error {
	row := "(" + strings.Repeat("?, ", b.width-1) + "?)"
	_, err := b.tx.Exec(b.head+strings.Repeat(row+", ", n-1)+row+b.Tail, b.args[:n*b.width]...)
	b.args = b.args[:copy(b.args, b.args[n*b.width:])]
	return err
}

// NextID returns the id of the next row of a table. Since there is only one writer, it can
// number several rows itself.
func (tx *Tx) NextID(table string) (id int64, err error) {
	err = tx.Row(`SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = ?), 0) + 1`, []any{table}, &id)
	return id, err
}
