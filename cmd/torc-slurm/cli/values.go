package cli

import "fmt"

// NotNil returns items, or an empty list for nil, so that JSON has a list.
func NotNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// IsSet reports whether an optional flag is true.
func IsSet(flag *bool) bool { return flag != nil && *flag }

// FirstNames returns the first names of a list, and how many more there are.
func FirstNames(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return Joined(names)
	}
	return fmt.Sprintf("%s and %d more", Joined(names[:shown]), len(names)-shown)
}

// OrDefault returns v, or other if v is zero.
func OrDefault[T comparable](v, other T) T {
	if v == *new(T) {
		return other
	}
	return v
}

// OrZero returns an optional number; 0 for nil.
func OrZero(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}
