package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
)

// pageParams are the query parameters of every list.
type pageParams struct {
	Offset      *int64  `query:"offset" doc:"how many items to skip"`
	Limit       *int64  `query:"limit" doc:"how many items at most; 100000 is the default and the maximum"`
	SortBy      *string `query:"sort_by" doc:"field to sort by; id if the field cannot be sorted by"`
	ReverseSort *bool   `query:"reverse_sort" doc:"descending order"`
}

// Page checks the parameters.
func (p *pageParams) Page() (store.Page, error) {
	page := store.Page{Limit: api.MaxLimit}
	if p.Offset != nil {
		page.Offset = *p.Offset
	}
	if p.Limit != nil {
		page.Limit = *p.Limit
	}
	if p.SortBy != nil {
		page.SortBy = *p.SortBy
	}
	page.Reverse = p.ReverseSort != nil && *p.ReverseSort
	switch {
	case page.Offset < 0:
		return page, rest.InvalidField("offset", page.Offset, "offset must not be negative")
	case page.Limit < 0:
		return page, rest.InvalidField("limit", page.Limit, "limit must not be negative")
	case page.Limit > api.MaxLimit:
		return page, rest.InvalidField("limit", page.Limit, "limit must not exceed %d", api.MaxLimit)
	}
	return page, nil
}

// windowParams are the query parameters of a list whose order is fixed.
type windowParams struct {
	Offset *int64 `query:"offset" doc:"how many items to skip"`
	Limit  *int64 `query:"limit" doc:"how many items at most; 100000 is the default and the maximum"`
}

// Page checks the parameters.
func (p *windowParams) Page() (store.Page, error) {
	return (&pageParams{Offset: p.Offset, Limit: p.Limit}).Page()
}

// paged are the parameters of a list.
type paged[P any] interface {
	*P
	Page() (store.Page, error)
}

// List returns a handler that answers with the page that read returns.
func List[P, T, W any, C paged[P]](
	read func(*rest.Request[P, rest.None], store.Page) (items []T, total int64, err error), wire func(T) W,
) func(*rest.Request[P, rest.None]) (api.Page[W], error) {
	return func(r *rest.Request[P, rest.None]) (api.Page[W], error) {
		page, err := C(&r.Params).Page()
		if err != nil {
			return api.Page[W]{}, err
		}
		items, total, err := read(r, page)
		return api.NewPage(Each(items, wire), page.Offset, total), err
	}
}

// largeList is the number of items from which a list counts as large.
const largeList = 1000

// Large reports whether the list may be large.
func (p *pageParams) Large() bool { return p.Limit == nil || *p.Limit > largeList }

// Large reports whether the list may be large.
func (p *windowParams) Large() bool { return p.Limit == nil || *p.Limit > largeList }
