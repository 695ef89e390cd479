package main

// candidates are the fixed choices among which the oracle finds the best. It simulates each
// of them on the same cluster, with the same jobs of others, so it knows the queue.
func candidates() []fixed {
	var all []fixed
	for _, count := range []int64{100, 64, 40, 25, 16, 10, 6, 4, 2, 1} {
		all = append(all, fixed{count: count, nodes: 1, stretch: 1})
	}
	for _, count := range []int64{100, 64, 40, 25, 16, 10, 6, 4} {
		all = append(all, fixed{count: count, nodes: 1, stretch: 2}, fixed{count: count, nodes: 1, stretch: 0.5})
	}
	for _, count := range []int64{100, 40, 16, 6} {
		all = append(all, fixed{count: count, nodes: 1, stretch: 0}) // for one job after the other
	}
	for _, count := range []int64{1, 2, 4} {
		all = append(all, fixed{count: count, stretch: 1}, fixed{count: count, stretch: 0.5})
	}
	return all
}
