package api

// FailureHandler is a named list of rules for failed jobs.
type FailureHandler struct {
	ID         *int64 `json:"id,omitempty"`
	WorkflowID int64  `json:"workflow_id"`
	Name       string `json:"name"`
	Rules      string `json:"rules"` // a JSON array, as text
}

// DeletedFailureHandler is the answer to DELETE /failure_handlers/{id}.
type DeletedFailureHandler struct {
	FailureHandler
	Message string `json:"message"`
}
