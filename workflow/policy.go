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
