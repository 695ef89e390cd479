package row

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// TorcExtra is the value of a column torc_extra: keys of torc without effect as one
// JSON object, null if there are none. Keys points to a workflow.TorcWorkflow or a
// workflow.TorcJob.
type TorcExtra struct{ Keys any }

// Value returns the object for a parameter of a statement.
func (x TorcExtra) Value() (driver.Value, error) {
	text, err := json.Marshal(x.Keys)
	if err != nil || string(text) == "{}" {
		return nil, err
	}
	return string(text), nil
}

// Scan reads the object.
func (x TorcExtra) Scan(value any) error {
	switch text := value.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), x.Keys)
	case []byte:
		return json.Unmarshal(text, x.Keys)
	}
	return fmt.Errorf("torc_extra is a %T", value)
}
