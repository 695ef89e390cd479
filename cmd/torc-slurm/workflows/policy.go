package workflows

import (
	"bytes"
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// policyText returns the policy of a workflow for failures and its end, one line for
// each key.
func policyText(p *workflow.RunPolicy) string {
	text, err := json.Marshal(p)
	if err != nil || p == nil {
		return "" // plain values, which come from JSON
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return ""
	}
	var b bytes.Buffer
	for _, key := range workflow.PolicyKeys() {
		if value := given[key]; value != nil {
			b.WriteString(key + ": " + string(value) + "\n")
		}
	}
	return b.String()
}
