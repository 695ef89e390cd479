package cli

import "encoding/json"

// JSONText returns JSON as text; empty for null.
func JSONText(data json.RawMessage) string {
	if string(data) == "null" {
		return ""
	}
	return string(data)
}

// CheckJSON returns a usage error if the value of a flag is not JSON.
func CheckJSON(flag, text string) error {
	if text != "" && !json.Valid([]byte(text)) {
		return UsageErrorf("--%s is not JSON: %s (a text is written with its quotes: '\"%s\"')", flag, text, text)
	}
	return nil
}

// IsObject reports whether a text is a JSON object.
func IsObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}
