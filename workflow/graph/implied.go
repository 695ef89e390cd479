package graph

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Dependencies returns for each job of the definition the jobs that it waits for, because of
// depends_on or because they write a file or user data that it reads: ascending, without
// duplicates. A job does not wait for itself. Jobs whose relations share slices share the
// result, which must not be changed.
func Dependencies(d *workflow.Definition) [][]int32 {
	m := merger{writers: writersOf(d), known: make(map[relationKey][]int32)}
	all := make([][]int32, len(d.Jobs))
	for i := range d.Jobs {
		deps := m.dependencies(&d.Jobs[i])
		if at, self := slices.BinarySearch(deps, int32(i)); self {
			deps = slices.Delete(slices.Clone(deps), at, at+1)
		}
		all[i] = deps
	}
	return all
}

// ListKey identifies a list by its address and length.
type ListKey struct {
	first *int32
	n     int
}

type relationKey [3]ListKey

// KeyOf returns the key of a list; all empty lists have the same key.
func KeyOf(s []int32) ListKey {
	if len(s) == 0 {
		return ListKey{}
	}
	return ListKey{&s[0], len(s)}
}

// writers has for each file and each user data record the jobs that write it.
type writers struct {
	ofFile, ofUserData [][]int32
}

func writersOf(d *workflow.Definition) writers {
	w := writers{make([][]int32, len(d.Files)), make([][]int32, len(d.UserData))}
	for i := range d.Jobs {
		for _, f := range d.Jobs[i].OutputFiles {
			w.ofFile[f] = append(w.ofFile[f], int32(i))
		}
		for _, u := range d.Jobs[i].OutputUserData {
			w.ofUserData[u] = append(w.ofUserData[u], int32(i))
		}
	}
	return w
}

// merger merges the dependencies of jobs, once for all jobs that share long lists.
type merger struct {
	writers
	known map[relationKey][]int32
}

func (m *merger) dependencies(j *workflow.JobDefinition) []int32 {
	if len(j.InputFiles)+len(j.InputUserData) < longList {
		return m.merge(j)
	}
	key := relationKey{KeyOf(j.DependsOn), KeyOf(j.InputFiles), KeyOf(j.InputUserData)}
	deps, known := m.known[key]
	if !known {
		deps = m.merge(j)
		m.known[key] = deps
	}
	return deps
}

func (w writers) merge(j *workflow.JobDefinition) []int32 {
	var deps []int32
	for _, f := range j.InputFiles {
		deps = append(deps, w.ofFile[f]...)
	}
	for _, u := range j.InputUserData {
		deps = append(deps, w.ofUserData[u]...)
	}
	if len(deps) == 0 {
		return j.DependsOn
	}
	deps = append(deps, j.DependsOn...)
	slices.Sort(deps)
	return slices.Compact(deps)
}
