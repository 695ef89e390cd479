// Package explain writes the texts of `why`: why a job, a workflow or a queue is in its
// present state, and what to do next.
package explain
