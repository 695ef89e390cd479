package graph

import (
	"cmp"
	"slices"
)

// Family are nodes with one name that have the same level. A graph of thousands of alike nodes is
// small when it is collapsed to families.
type Family struct {
	Name    string
	Level   int32
	Members []int32 // ascending
	After   []int32 // the indexes of the families that its members depend on, ascending
}

// Collapse returns the families of a graph without cycles, by level and first member. Names has the
// name of the family of each node.
func Collapse(names []string, deps Deps) []Family {
	type key struct {
		name  string
		level int32
	}
	levels := Levels(len(names), deps)
	index := map[key]int32{}
	var all []Family
	for i, name := range names {
		k := key{name, levels[i]}
		at, known := index[k]
		if !known {
			at = int32(len(all))
			index[k] = at
			all = append(all, Family{Name: name, Level: levels[i]})
		}
		all[at].Members = append(all[at].Members, int32(i))
	}
	slices.SortFunc(all, func(a, b Family) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Members[0], b.Members[0]))
	})
	for at := range all {
		index[key{all[at].Name, all[at].Level}] = int32(at)
	}
	for at := range all {
		f := &all[at]
		seen := map[int32]bool{}
		for _, i := range f.Members {
			for _, d := range deps(int(i)) {
				seen[index[key{names[d], levels[d]}]] = true
			}
		}
		for d := range seen {
			f.After = append(f.After, d)
		}
		slices.Sort(f.After)
	}
	return all
}
