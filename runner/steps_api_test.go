package runner

import (
	"slices"
	"testing"
)

// The address at which jobs call the daemon is on their own node.
func TestAPIURLOfSteps(t *testing.T) {
	for _, test := range []struct {
		name  string
		nodes []string // of the runner
		hosts []string // of the step
		on    func(string) string
		want  []string
	}{
		{"own node", []string{"n1", "n2"}, []string{"n1"}, nil, []string{"A=1", "TORC_API_URL=own"}},
		{"no node chosen", nil, nil, nil, []string{"A=1", "TORC_API_URL=own"}},
		{"on two nodes from here", []string{"n1", "n2"}, []string{"n1", "n2"}, nil, []string{"A=1", "TORC_API_URL=own"}},
		{"no gateway there", []string{"n1", "n2"}, []string{"n2"}, nil, []string{"A=1"}},
		{"no gateway yet", []string{"n1", "n2"}, []string{"n2"}, func(string) string { return "" }, []string{"A=1"}},
		{"there", []string{"n1", "n2"}, []string{"n2"}, func(node string) string { return "on " + node }, []string{"A=1", "TORC_API_URL=on n2"}},
	} {
		r := (&Runner{opts: Options{Nodes: test.nodes, APIURLOn: test.on}}).linkParts()
		if got := r.work.envForHost([]string{"A=1", "TORC_API_URL=own"}, test.hosts); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
