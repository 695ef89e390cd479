package workflow

// Policy is an ordered list of rules; the first rule that matches decides.
type Policy struct {
	Name  string
	Rules []PolicyRule
}

// PolicyRule says what to do for some causes.
type PolicyRule struct {
	ID      string
	Causes  []CauseKind
	Action  Action
	Limit   int64 // retries, if Counted
	Counted bool
	MaxFree int64 // retries, if not Counted
	// AvoidLast keeps the next attempt off the node of this one.
	AvoidLast bool
}

// RuleCount is how often a rule has granted a retry of a job in this run.
type RuleCount struct {
	Counted int64
	Free    int64
}

// History is what happened to the job before, in this run.
type History struct {
	AttemptID     int64 // of the attempt that just ended
	CountedFails  int64 // attempts before this one whose retry was counted
	Rules         map[string]RuleCount
	ReportedByOld bool // reported through a torc call, not by our runner
}

// Policies are the rules that apply to a job.
type Policies struct {
	Handler          *FailureHandlerDefinition // nil if the job has none
	UsePendingFailed bool
	// Default is the built-in policy; see DefaultPolicy.
	Default Policy
}
