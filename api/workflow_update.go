package api

import (
	"encoding/json"
	"fmt"
	"slices"
)

// WorkflowUpdate is the body of PUT /workflows/{id}. What is absent stays; a key of
// policy that is null is removed.
type WorkflowUpdate struct {
	Workflow
	// UnsetPolicy are the keys of the policy that are null, such as max_failures and
	// end.success_if.
	UnsetPolicy []string `json:"-"`
}

// UnmarshalJSON reads an update, and which keys of the policy are null.
func (u *WorkflowUpdate) UnmarshalJSON(text []byte) error {
	*u = WorkflowUpdate{}
	if err := json.Unmarshal(text, &u.Workflow); err != nil {
		return err
	}
	var given struct {
		Policy map[string]json.RawMessage `json:"policy"`
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	var end map[string]json.RawMessage
	if err := json.Unmarshal(given.Policy["end"], &end); err != nil {
		end = nil // it was not given, or is no object, which was said
	}
	for key, value := range given.Policy {
		if string(value) == "null" {
			u.UnsetPolicy = append(u.UnsetPolicy, key)
		}
	}
	if string(end["success_if"]) == "null" {
		u.UnsetPolicy = append(u.UnsetPolicy, "end.success_if")
	}
	slices.Sort(u.UnsetPolicy)
	return nil
}

// MarshalJSON writes an update, with null for the keys that are to be removed.
func (u WorkflowUpdate) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(u.Workflow)
	if err != nil || len(u.UnsetPolicy) == 0 {
		return text, err
	}
	body, policy := map[string]any{}, map[string]any{}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, fmt.Errorf("write the update of workflow %s: %w", u.Name, err)
	}
	if given, ok := body["policy"].(map[string]any); ok {
		policy = given
	}
	for _, key := range u.UnsetPolicy {
		if key != "end.success_if" {
			policy[key] = nil
			continue
		}
		end, ok := policy["end"].(map[string]any)
		if !ok {
			end = map[string]any{}
		}
		end["success_if"], policy["end"] = nil, end
	}
	body["policy"] = policy
	return json.Marshal(body)
}
