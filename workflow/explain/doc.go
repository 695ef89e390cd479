// Package explain writes the texts of `why`: why a job, a workflow or a queue is where
// it is, and what to do next.
package explain
