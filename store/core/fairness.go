package core

// Fairness records which classes are overtaken although a runner could take their jobs if
// it ran nothing else. It belongs to the writer's goroutine. A restarted daemon starts
// without it, which only affects the order of jobs.
type Fairness struct {
	Passed map[int64]*PassedOver // by class
}

// PassedOver is an overtaken class.
type PassedOver struct {
	SinceMS int64
	SeenMS  int64
	Runner  int64 // the runner that reserves room for it; 0: none
}
