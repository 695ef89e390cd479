package cli

import "fmt"

// NotNil is an empty list for none, so that JSON has a list.
func NotNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// IsSet reports whether a flag is there and true.
func IsSet(flag *bool) bool { return flag != nil && *flag }

// FirstNames writes the first few of a list.
func FirstNames(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return Joined(names)
	}
	return fmt.Sprintf("%s and %d more", Joined(names[:shown]), len(names)-shown)
}

// OrDefault returns v, or another value if it is zero.
func OrDefault[T comparable](v, other T) T {
	if v == *new(T) {
		return other
	}
	return v
}

// OrZero is an optional number; 0 for none.
func OrZero(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}
