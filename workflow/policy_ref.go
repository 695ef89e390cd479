package workflow

import (
	"bytes"
	"encoding/json"
)

// PolicyRef refers to a retry policy of a workflow or job: the name of a stored policy, or
// the policy itself. In JSON it is a string or an object.
type PolicyRef struct {
	Name   string       // of a stored policy; empty if Policy is given
	Policy *RetryPolicy // nil if Name is given
}

// PolicyName returns the name of the policy.
func (r PolicyRef) PolicyName() string {
	if r.Policy != nil {
		return r.Policy.Name
	}
	return r.Name
}

// MarshalJSON writes the name or the policy.
func (r PolicyRef) MarshalJSON() ([]byte, error) {
	if r.Policy != nil {
		return json.Marshal(r.Policy)
	}
	return json.Marshal(r.Name)
}

// UnmarshalJSON reads a name or a policy. It returns an error for a policy with unknown
// keys.
func (r *PolicyRef) UnmarshalJSON(text []byte) error {
	*r = PolicyRef{}
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &r.Name)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r.Policy = &RetryPolicy{}
	return d.Decode(r.Policy)
}
