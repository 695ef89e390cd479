package cluster

// Arrival is a job of somebody else that is submitted at a time.
type Arrival struct {
	At int64
	Request
}

// Source gives the jobs of others, in the order of their submission. Nothing is kept of
// those that it has given.
type Source interface {
	Next() (a Arrival, ok bool)
	// Clone returns a source that gives the same jobs from here on.
	Clone() Source
}
