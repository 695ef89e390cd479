package core

// Fairness remembers which classes are passed over, though a runner could take
// their jobs if it ran nothing else. It belongs to the writer's goroutine, and
// begins anew with the daemon: nothing depends on it but the order of jobs.
type Fairness struct {
	Passed map[int64]*PassedOver // by class
}

// PassedOver is a class that is being passed over.
type PassedOver struct {
	SinceMS int64
	SeenMS  int64
	Runner  int64 // the runner that keeps room for it; 0 while none does
}
