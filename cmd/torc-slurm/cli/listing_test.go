package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/client"
)

func TestSplitIDs(t *testing.T) {
	got, err := SplitIDs("job", []string{"3,1", "2", "1, 3"})
	if diff := cmp.Diff([]int64{3, 1, 2}, got); diff != "" || err != nil {
		t.Errorf("error %v, ids (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "x", "0", "-1", "1,", "1.5"} {
		if got, err := SplitIDs("job", []string{bad}); ExitStatus(err) != ExitUsage {
			t.Errorf("%q gave %v and %v", bad, got, err)
		}
	}
}

func TestListFlagsCheck(t *testing.T) {
	for _, tt := range []struct {
		page client.Page
		ok   bool
	}{
		{client.Page{}, true},
		{client.Page{Limit: 1, Offset: 1, SortBy: "id"}, true},
		{client.Page{SortBy: "name"}, true},
		{client.Page{SortBy: "size"}, false},
		{client.Page{Limit: -1}, false},
		{client.Page{Offset: -1}, false},
	} {
		l := ListFlags{Page: tt.page, Sortable: []string{"id", "name"}}
		if err := l.Check(); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.page, err)
		}
	}
}
