// Package background makes the jobs of the other users of a simulated cluster: from a
// published workload model, or from a recorded log.
package background
