package row

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// AbortedReason begins the reason of attempts that end because their run is aborted.
// Earlier versions wrote GivenUpReason instead.
const (
	AbortedReason = "the run was aborted: "
	GivenUpReason = "the run was given up: "
)

// ReturnCodes returns the return codes that a workflow's execution_config sets for attempts
// without their own.
func ReturnCodes(execution sql.NullString) (workflow.ReturnCodes, error) {
	var config *workflow.ExecutionConfig
	if execution.Valid {
		if err := json.Unmarshal([]byte(execution.String), &config); err != nil {
			return workflow.ReturnCodes{}, fmt.Errorf("read the execution_config: %w", err)
		}
	}
	return config.ReturnCodes(), nil
}
