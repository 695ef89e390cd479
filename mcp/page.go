package mcp

import (
	"iter"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// The numbers of items in an answer.
const (
	usualItems = 50
	mostItems  = 200
)

// pageIn selects a part of a list.
type pageIn struct {
	Limit  int64  `json:"limit,omitempty" jsonschema:"how many items to return; 50 by default, 200 at most"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the previous answer, to go on after it"`
}

// pageOut says how a list goes on.
type pageOut struct {
	NextCursor string `json:"next_cursor,omitempty" jsonschema:"pass it as cursor to get the next items; absent at the end"`
}

// page returns the part of a list that is asked for; CodeInvalid if it is none. It has one
// item more, from which next finds out whether the list goes on.
func (p pageIn) page() (client.Page, error) {
	limit, err := p.limit()
	if err != nil {
		return client.Page{}, err
	}
	offset := int64(0)
	if p.Cursor != "" {
		text, ok := strings.CutPrefix(p.Cursor, "after-")
		offset, err = strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || offset < 1 {
			return client.Page{}, workflow.Errorf(workflow.CodeInvalid, "invalid cursor %q", p.Cursor).
				WithHint("pass next_cursor of the previous answer, or none for the beginning")
		}
	}
	return client.Page{Offset: offset, Limit: limit + 1}, nil
}

// cursorAfter returns the cursor after some items.
func cursorAfter(n int64) string { return "after-" + strconv.FormatInt(n, 10) }

func (p pageIn) limit() (int64, error) {
	switch {
	case p.Limit < 0 || p.Limit > mostItems:
		return 0, workflow.Errorf(workflow.CodeInvalid, "limit %d is not between 1 and %d", p.Limit, mostItems)
	case p.Limit == 0:
		return usualItems, nil
	}
	return p.Limit, nil
}

// collect reads a page of a list.
func collect[T, Out any](page client.Page, items iter.Seq2[T, error], convert func(T) Out) (out []Out, next pageOut, err error) {
	out = []Out{}
	for item, err := range items {
		if err != nil {
			return nil, next, err
		}
		if int64(len(out)) == page.Limit-1 {
			next.NextCursor = cursorAfter(page.Offset + page.Limit - 1)
			break
		}
		out = append(out, convert(item))
	}
	return out, next, nil
}

// pageOf returns a page of a list that is in memory.
func pageOf[T any](page client.Page, all []T) (items []T, next pageOut) {
	items, next, _ = collect(page, func(yield func(T, error) bool) {
		for i := page.Offset; i < int64(len(all)); i++ {
			if !yield(all[i], nil) {
				return
			}
		}
	}, func(item T) T { return item })
	return items, next
}
