package api

import (
	"encoding/json"
	"fmt"
	"slices"
)

// WorkflowUpdate is the body of PUT /workflows/{id}. Absent keys keep their values; keys
// of policy that are null are removed.
type WorkflowUpdate struct {
	Workflow
	// UnsetPolicy are the keys of the policy to remove, such as max_failures and
	// end.success_if.
	UnsetPolicy []string `json:"-"`
}

// UnmarshalJSON decodes an update, and which keys of the policy are null.
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
		end = nil // absent, or not an object, which was reported
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

// MarshalJSON encodes an update, with null for the keys to remove.
func (u WorkflowUpdate) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(u.Workflow)
	if err != nil || len(u.UnsetPolicy) == 0 {
		return text, err
	}
	body, err := object(text)
	if err != nil {
		return nil, fmt.Errorf("write the update of workflow %s: %w", u.Name, err)
	}
	policy, err := object(body["policy"])
	if err != nil {
		return nil, fmt.Errorf("write the policy of workflow %s: %w", u.Name, err)
	}
	for _, key := range u.UnsetPolicy {
		if key != "end.success_if" {
			policy[key] = null
		}
	}
	if slices.Contains(u.UnsetPolicy, "end.success_if") && !slices.Contains(u.UnsetPolicy, "end") {
		end, err := object(policy["end"])
		if err != nil {
			return nil, fmt.Errorf("write the policy of workflow %s: %w", u.Name, err)
		}
		end["success_if"] = null
		if policy["end"], err = json.Marshal(end); err != nil {
			return nil, err
		}
	}
	if body["policy"], err = json.Marshal(policy); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

var null = json.RawMessage("null")

// object returns the keys of an object with their unchanged values; an empty map for an
// empty text.
func object(text json.RawMessage) (map[string]json.RawMessage, error) {
	o := map[string]json.RawMessage{}
	if len(text) == 0 {
		return o, nil
	}
	return o, json.Unmarshal(text, &o)
}
