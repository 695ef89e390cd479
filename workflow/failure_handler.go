package workflow

import "encoding/json"

// FailureHandler is a stored failure handler. Rules is stored as the client wrote it.
type FailureHandler struct {
	ID         int64
	WorkflowID int64
	Name       string
	Rules      string // a JSON array of FailureRule
}

// DefaultHandlerRetries is the default of max_retries.
const DefaultHandlerRetries = 3

// UnmarshalJSON reads a rule; a missing max_retries is 3.
func (r *FailureRule) UnmarshalJSON(text []byte) error {
	type plain FailureRule
	rule := plain{MaxRetries: DefaultHandlerRetries}
	if err := json.Unmarshal(text, &rule); err != nil {
		return err
	}
	*r = FailureRule(rule)
	return nil
}

// MarshalJSON writes an empty list if a rule has no exit codes, because torc's runner
// rejects null.
func (r FailureRule) MarshalJSON() ([]byte, error) {
	type plain FailureRule
	if r.ExitCodes == nil {
		r.ExitCodes = []int64{}
	}
	return json.Marshal(plain(r))
}

// Definition returns the handler with its rules decoded, or an error of CodeInvalid if
// they are not a list of rules.
func (h *FailureHandler) Definition() (*FailureHandlerDefinition, error) {
	d := &FailureHandlerDefinition{Name: h.Name}
	if err := json.Unmarshal([]byte(h.Rules), &d.Rules); err != nil {
		return nil, Errorf(CodeInvalid, "failure handler %s: rules are not a list of rules: %v", h.Name, err).
			WithHint(`write [{"exit_codes": [10], "recovery_script": "./fix.sh", "max_retries": 3}]`)
	}
	return d, nil
}
