package sqlite

import "fmt"

// Wrap adds to an error what was being done, in the words of fmt.Sprintf; nil stays nil. It
// is for the last statement of a function.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
