package sqlite

import (
	"errors"

	"github.com/mattn/go-sqlite3"
)

// IsUnique reports whether err is a violated unique constraint.
func IsUnique(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) &&
		(e.ExtendedCode == sqlite3.ErrConstraintUnique || e.ExtendedCode == sqlite3.ErrConstraintPrimaryKey)
}

// isCorrupt reports whether err says that the file is damaged.
func isCorrupt(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrCorrupt
}
