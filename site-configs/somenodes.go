package siteconfigs

import (
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// nodesTried is how many node names are tried, since names of powered-down cloud nodes do
// not resolve.
const nodesTried = 6

// SomeNodes returns nodes to try: one of each group, then another one of each. The first
// is up, if any is.
func SomeNodes(groups []slurm.NodeGroup) []string {
	up := func(g slurm.NodeGroup) bool { return g.Usable() && !strings.Contains(g.Flags, "~") }
	if i := slices.IndexFunc(groups, up); i > 0 {
		groups = slices.Concat(groups[i:], groups[:i])
	}
	expanded := make([][]string, 0, len(groups))
	for _, g := range groups {
		if names, err := slurm.ExpandNodes(g.Nodes); err == nil {
			expanded = append(expanded, names)
		}
	}
	var some []string
	for i := range nodesTried {
		for _, names := range expanded {
			if i < len(names) && !slices.Contains(some, names[i]) {
				some = append(some, names[i])
			}
		}
	}
	return some[:min(len(some), nodesTried)]
}
