package workflow

import (
	"encoding/json"
	"strconv"
)

// The payloads of the events that each attempt has write themselves: there are two
// for every job, and reflection would cost as much as their rows do. What they write
// is what encoding/json writes.

// AppendJSON appends the payload as JSON.
func (p JobStartedPayload) AppendJSON(b []byte) []byte {
	b = appendJSONNumber(b, `{"job_id":`, p.JobID)
	b = appendJSONText(b, `,"job_name":`, p.JobName)
	b = appendJSONNumber(b, `,"compute_node_id":`, p.ComputeNodeID)
	b = appendJSONNumber(b, `,"run_id":`, p.RunID)
	b = appendJSONNumber(b, `,"attempt_id":`, p.AttemptID)
	return append(b, '}')
}

// AppendJSON appends the payload as JSON.
func (p JobEndedPayload) AppendJSON(b []byte) []byte {
	b = appendJSONNumber(b, `{"job_id":`, p.JobID)
	b = appendJSONText(b, `,"job_name":`, p.JobName)
	b = appendJSONText(b, `,"status":`, p.Status.String())
	b = appendJSONNumber(b, `,"return_code":`, p.ReturnCode)
	b = appendJSONNumber(b, `,"run_id":`, p.RunID)
	b = appendJSONNumber(b, `,"attempt_id":`, p.AttemptID)
	for _, f := range [...]struct{ key, value string }{
		{`,"cause":`, string(p.Cause)}, {`,"text":`, p.Text}, {`,"category_of_failure":`, p.Category}, {`,"reason":`, p.Reason},
	} {
		if f.value != "" {
			b = appendJSONText(b, f.key, f.value)
		}
	}
	if p.RoutedToEnd {
		b = append(b, `,"routed_to_end":true`...)
	}
	if p.OriginalFailedJob != "" {
		b = appendJSONText(b, `,"original_failed_job":`, p.OriginalFailedJob)
	}
	return append(b, '}')
}

func appendJSONNumber(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), n, 10)
}

func appendJSONText(b []byte, key, text string) []byte {
	b = append(b, key...)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a string
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
