package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
)

func TestSplitIDs(t *testing.T) {
	got, err := splitIDs("job", []string{"3,1", "2", "1, 3"})
	if diff := cmp.Diff([]int64{3, 1, 2}, got); diff != "" || err != nil {
		t.Errorf("error %v, ids (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "x", "0", "-1", "1,", "1.5"} {
		if got, err := splitIDs("job", []string{bad}); exitStatus(err) != exitUsage {
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
		l := listFlags{page: tt.page, sortable: []string{"id", "name"}}
		if err := l.check(); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.page, err)
		}
	}
}

func TestWithoutColumns(t *testing.T) {
	titles := func(titles ...string) (shown []string, err error) {
		l, err := withoutColumns(jobColumns(nil, time.Time{}), titles)
		for _, c := range l.columns {
			shown = append(shown, c.title)
		}
		return shown, err
	}
	got, err := titles("command", "Compute Node", "ELAPSED", "priority")
	if diff := cmp.Diff([]string{"ID", "Name", "Status"}, got); diff != "" || err != nil {
		t.Errorf("error %v, columns (-want +got):\n%s", err, diff)
	}
	if got, err := titles("compute_node", "compute-node"); err == nil {
		t.Errorf("a column was left out twice: %v", got)
	}
	if _, err := titles("size"); exitStatus(err) != exitUsage {
		t.Errorf("a column that there is not: %v", err)
	}
}

// TestListsHaveCSV: what is called a list can be written as CSV.
func TestListsHaveCSV(t *testing.T) {
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if strings.HasPrefix(c.Name(), "list") && c.Annotations[csvAnnotation] == "" {
			t.Errorf("%s is a list without csv: withCSV", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(newRoot(&app{}))
}
