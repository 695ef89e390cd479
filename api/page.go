package api

// MaxLimit is how many items a page has at most, and by default.
const MaxLimit = 100_000

// Page is one page of a list. All six keys are always there.
type Page[T any] struct {
	Items      []T   `json:"items"`
	Offset     int64 `json:"offset"`
	MaxLimit   int64 `json:"max_limit"`
	Count      int64 `json:"count"`
	TotalCount int64 `json:"total_count"`
	HasMore    bool  `json:"has_more"`
}

// NewPage makes the page that begins at offset of a list of total items.
func NewPage[T any](items []T, offset, total int64) Page[T] {
	if items == nil {
		items = []T{}
	}
	count := int64(len(items))
	return Page[T]{
		Items: items, Offset: offset, MaxLimit: MaxLimit,
		Count: count, TotalCount: total, HasMore: offset+count < total,
	}
}
