// Package placement decides which jobs fit where: on nodes, on hosts that several runners
// share, next to reserved room, and in allocations that could be requested.
package placement
