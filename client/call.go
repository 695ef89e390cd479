package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/torc-slurm/torc-slurm/api"
)

// doer makes calls; a conn or a noun.
type doer interface {
	do(ctx context.Context, method, path string, in, out any) error
}

// get makes a GET call that answers with a T.
func get[T any](ctx context.Context, c doer, path string, args ...any) (*T, error) {
	return call[T](ctx, c, http.MethodGet, fmt.Sprintf(path, args...), nil)
}

// call makes a call that answers with a T. A nil body sends none.
func call[T any](ctx context.Context, c doer, method, path string, body any) (*T, error) {
	out := new(T)
	if err := c.do(ctx, method, path, body, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Page selects a part of a list and its order. The zero value is the whole list, sorted
// by id.
type Page struct {
	Offset  int64
	Limit   int64 // 0 for no limit
	SortBy  string
	Reverse bool
}

// pages requests a list page by page. The iteration ends after the first error.
func pages[T any](ctx context.Context, c doer, path string, page Page, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := page.Limit
		for offset := page.Offset; ; {
			q := page.query(query, offset, left)
			got, err := get[api.Page[T]](ctx, c, "%s", path+q)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range got.Items {
				if !yield(item, nil) {
					return
				}
			}
			count := int64(len(got.Items))
			if page.Limit > 0 {
				if left -= count; left <= 0 {
					return
				}
			}
			if !got.HasMore || count == 0 {
				return
			}
			offset += count
		}
	}
}

// query returns the query string of one request of a list.
func (p Page) query(filter url.Values, offset, limit int64) string {
	q := url.Values{}
	for name, values := range filter {
		q[name] = values
	}
	if offset != 0 {
		q.Set("offset", strconv.FormatInt(offset, 10))
	}
	if limit != 0 {
		q.Set("limit", strconv.FormatInt(min(limit, api.MaxLimit), 10))
	}
	if p.SortBy != "" {
		q.Set("sort_by", p.SortBy)
	}
	if p.Reverse {
		q.Set("reverse_sort", "true")
	}
	return encode(q)
}

// encode returns a query with its question mark; empty for an empty query.
func encode(q url.Values) string {
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Collect reads all items of a list. It returns the first error.
func Collect[T any](items iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// values returns a query of pairs of name and value, without nil and empty values.
func values(pairs ...any) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if text := queryText(pairs[i+1]); text != "" {
			q.Set(pairs[i].(string), text)
		}
	}
	return q
}

// queryText returns an optional value of a query as text; empty to leave it out. A false
// bool is the default of every parameter and left out; a pointer to false is not.
func queryText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
	case *bool:
		if v != nil {
			return strconv.FormatBool(*v)
		}
	case int64:
		return strconv.FormatInt(v, 10)
	case *int64:
		if v != nil {
			return strconv.FormatInt(*v, 10)
		}
	case fmt.Stringer:
		return v.String()
	}
	return ""
}
