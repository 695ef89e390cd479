// Package work has the workflows that the contenders run on a simulated cluster, and a model
// of the runners that run their jobs in allocations.
//
// A runner claims jobs as the product's do: by placement.Packer, and only those whose
// declared runtime fits in the time that is left without the margins. It leaves when no job
// can become work for it, or when it has been idle for the default idle timeout. Left out:
// jobs that are claimed ahead, polls (a job is claimed as soon as it is ready), and the time
// that starting a process takes.
package work
