// Package placement says which jobs fit where: on nodes, on hosts that runners share,
// beside reservations, and in allocations that could be asked for.
package placement
