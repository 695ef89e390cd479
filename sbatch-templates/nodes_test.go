package sbatchtemplates

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNodesOf has options as sbatch 22.05 reads them.
func TestNodesOf(t *testing.T) {
	excluded := []Option{{Name: "exclude", Value: "n9"}}
	for _, tc := range []struct {
		defaults []Option
		extra    string
		want     Nodes
	}{
		{nil, "", Nodes{}},
		{nil, "--mem-bind=local\n--exclusive -w n1", Nodes{Required: []string{"n1"}}},
		{nil, "-wn[2,1]", Nodes{Required: []string{"n1", "n2"}}},
		{nil, "--nodelist n3 -x n1 --exclude=n2 # why", Nodes{Required: []string{"n3"}, Excluded: []string{"n2"}}},
		{excluded, "", Nodes{Excluded: []string{"n9"}}},
		{excluded, "-x n1", Nodes{Excluded: []string{"n1"}}},
		{excluded, "--exclude=", Nodes{}},
		{nil, `-C "fast&big"`, Nodes{Restricted: true, Features: []string{"big", "fast"}}},
		{nil, "--constraint=ssd", Nodes{Restricted: true, Features: []string{"ssd"}}},
		{nil, `--constraint="[rack1|rack2]"`, Nodes{Restricted: true, Unclear: true}},
		{nil, "--constraint=ssd*4", Nodes{Restricted: true, Unclear: true}},
		{nil, "--reservation=course -x n1", Nodes{Restricted: true, Reservation: "course", Excluded: []string{"n1"}}},
		{nil, "--reservation=one,two", Nodes{Restricted: true, Unclear: true}},
		{nil, "--nodelist=./nodes", Nodes{Restricted: true, Unclear: true}},
		{nil, "-x n[1-", Nodes{Restricted: true, Unclear: true}},
		{nil, "-w", Nodes{}},
		{nil, `--comment="--nodelist=n1"`, Nodes{}},
	} {
		if diff := cmp.Diff(tc.want, NodesOf(tc.defaults, tc.extra)); diff != "" {
			t.Errorf("%v, %q: -want +got:\n%s", tc.defaults, tc.extra, diff)
		}
	}
}

// TestBothListsAreExcluded: the user's own list, wherever it is, and ours.
func TestBothListsAreExcluded(t *testing.T) {
	for _, tc := range []struct {
		defaults []Option
		extra    string
	}{
		{[]Option{{Name: "exclude", Value: "n3"}}, ""},
		{nil, "--exclude=n3"},
		{nil, "-x n3\n--nice\n"},
	} {
		script, err := Render(Request{JobName: "a", Dir: "/x", Exclude: []string{"n1"}, Defaults: tc.defaults, Extra: tc.extra, Runner: []string{"run"}})
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		for line := range strings.Lines(string(script)) {
			if strings.Contains(line, "exclude") || strings.Contains(line, "-x") {
				last = line
			}
		}
		if last != "#SBATCH --exclude=\"n1,n3\"\n" {
			t.Errorf("%+v: the last list is %q", tc, last)
		}
	}
}
