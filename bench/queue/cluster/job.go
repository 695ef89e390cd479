package cluster

// Resources is what a node has, or what a job needs on each of its nodes.
type Resources struct {
	CPUs, MemoryMB, GPUs int64
}

func (r Resources) holds(need Resources) bool {
	return r.CPUs >= need.CPUs && r.MemoryMB >= need.MemoryMB && r.GPUs >= need.GPUs
}

func (r Resources) plus(o Resources) Resources {
	return Resources{r.CPUs + o.CPUs, r.MemoryMB + o.MemoryMB, r.GPUs + o.GPUs}
}

func (r Resources) minus(o Resources) Resources {
	return Resources{r.CPUs - o.CPUs, r.MemoryMB - o.MemoryMB, r.GPUs - o.GPUs}
}

// Request is what a job asks for. Times are in seconds.
type Request struct {
	User       int
	Partitions []int // by their index; any of them
	Nodes      int64
	Each       Resources // on each node; ignored where nodes are not shared
	Limit      int64     // its time limit
	// Runtime is how long it runs, if it is not ended before; 0: to its time limit.
	Runtime int64
}

// State is where a job is in its life.
type State int8

// The states.
const (
	Pending State = iota
	Running
	Ended
)

// End says why a job has ended.
type End int8

// The ends.
const (
	Completed End = iota
	TimedOut
	Canceled
)

// Job is a Slurm job. Others only read it.
type Job struct {
	Request
	ID     int64
	State  State
	Submit int64
	Start  int64 // of a running or ended one
	Ended  int64
	End    End
	// Expected is when the last pass of the backfill scheduler expected the job to start;
	// 0: it made no reservation.
	Expected  int64
	Free      bool  // resources for it were free when it was submitted
	Partition int   // in which it has started
	Placed    []int // the nodes that it got
	// Started and Over, if not nil, are called when it starts and when it has ended.
	Started, Over func(*Job)

	key   float64 // its place in the queue: higher is earlier
	index int     // in the list of running jobs
}

// takes returns what the job takes of each of its nodes in a partition.
func (j *Job) takes(p *Partition) Resources {
	if p.Whole {
		return p.Node
	}
	return j.Each
}

// CPUs returns how many CPUs the job takes in a partition, in total.
func (j *Job) CPUs(p *Partition) int64 { return j.Nodes * j.takes(p).CPUs }

// end returns when the job ends by itself.
func (j *Job) end() (at int64, how End) {
	if j.Runtime > 0 && j.Runtime <= j.Limit {
		return j.Start + j.Runtime, Completed
	}
	return j.Start + j.Limit, TimedOut
}
