package cluster

import (
	"cmp"
	"slices"
)

// queue is the pending jobs of a partition, the first to start first.
type queue []*Job

// compare orders jobs by priority, and those of equal priority as they were submitted.
func compare(a, b *Job) int {
	return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
}

func (q *queue) add(j *Job) {
	at, _ := slices.BinarySearchFunc(*q, j, compare)
	*q = slices.Insert(*q, at, j)
}

func (q *queue) remove(j *Job) {
	if at, found := slices.BinarySearchFunc(*q, j, compare); found {
		*q = slices.Delete(*q, at, at+1)
	}
}
