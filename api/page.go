package api

import (
	"bytes"
	"encoding/json"
	"io"
)

// MaxLimit is the largest and the default number of items of a page.
const MaxLimit = 100_000

// Page is one page of a list. It always has all six keys.
type Page[T any] struct {
	Items      []T   `json:"items"`
	Offset     int64 `json:"offset"`
	MaxLimit   int64 `json:"max_limit"`
	Count      int64 `json:"count"`
	TotalCount int64 `json:"total_count"`
	HasMore    bool  `json:"has_more"`
}

// EncodeTo writes the page as a json.Encoder without HTML escapes would, one item at a
// time, so that the whole text is never in memory.
func (p Page[T]) EncodeTo(w io.Writer) error {
	rest := p
	rest.Items = []T{}
	const begin = `{"items":[`
	end, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, begin); err != nil {
		return err
	}
	var item bytes.Buffer
	enc := json.NewEncoder(&item)
	enc.SetEscapeHTML(false)
	for i := range p.Items {
		item.Reset()
		if i > 0 {
			item.WriteByte(',')
		}
		if err := enc.Encode(&p.Items[i]); err != nil {
			return err
		}
		item.Truncate(item.Len() - 1) // the newline
		if _, err := w.Write(item.Bytes()); err != nil {
			return err
		}
	}
	_, err = w.Write(end[len(begin):])
	return err
}

// NewPage returns the page at offset of a list of total items.
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
