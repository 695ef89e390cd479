package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestAvoidNodesExtend(t *testing.T) {
	two := int64(2)
	n := func(names ...string) (list []AvoidedNode) {
		for _, name := range names {
			list = append(list, AvoidedNode{Node: name})
		}
		return list
	}
	const now = 1_000_000
	for _, tt := range []struct {
		name string
		a    *AvoidNodes
		list []AvoidedNode
		node string
		want []AvoidedNode
	}{
		{"nothing said", nil, n("a"), "b", nil},
		{"none", &AvoidNodes{Mode: AvoidNone}, n("a"), "b", nil},
		{"last forgets the others", &AvoidNodes{Mode: AvoidLast}, n("a"), "b", n("b")},
		{"an unknown node", &AvoidNodes{Mode: AvoidLast}, n("a"), "", nil},
		{"all", &AvoidNodes{Mode: AvoidAll}, n("a"), "b", n("a", "b")},
		{"all, again there", &AvoidNodes{Mode: AvoidAll}, n("a", "b"), "a", n("b", "a")},
		{"the oldest is dropped", &AvoidNodes{Mode: AvoidAll, Max: &two}, n("a", "b"), "c", n("b", "c")},
		{"at most eight", &AvoidNodes{Mode: AvoidAll}, n("a", "b", "c", "d", "e", "f", "g", "h"), "i", n("b", "c", "d", "e", "f", "g", "h", "i")},
		{"for a time", &AvoidNodes{Mode: AvoidAll, TTL: "1m"}, nil, "a", []AvoidedNode{{"a", now + 60_000}}},
		{"whose time is over", &AvoidNodes{Mode: AvoidAll}, []AvoidedNode{{"a", now}, {"b", now + 1}}, "", []AvoidedNode{{"b", now + 1}}},
	} {
		if diff := cmp.Diff(tt.want, tt.a.Extend(tt.list, tt.node, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
