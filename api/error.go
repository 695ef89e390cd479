package api

// Kinds of errors, the values of ErrorDetail.Error.
const (
	KindNotFound     = "NotFound"
	KindForbidden    = "Forbidden"
	KindConflict     = "Conflict"
	KindUnavailable  = "Unavailable"
	KindInternal     = "InternalServerError"
	KindNoAuthFile   = "NoAuthFile"
	KindReloadFailed = "ReloadFailed"
	KindUnfit        = "Unfit" // jobs that can never run on the given resources
)

// ErrorResponse is the body of an error of a handler. Requests that do not reach a handler
// (syntax, types, media type) are answered in plain text.
type ErrorResponse struct {
	Error ErrorDetail `json:"error"`
}

// ErrorDetail describes an error.
type ErrorDetail struct {
	Error   string `json:"error,omitempty"` // the kind; see the Kind constants
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do about it
	// Field and Value are the part of the request that is wrong.
	Field string `json:"field,omitempty"`
	Value any    `json:"value,omitempty"`
	// Claimed is set, to false, if another client has claimed the action.
	Claimed *bool `json:"claimed,omitempty"`
	// ExistingTaskID and ExistingOperation identify the conflicting task.
	ExistingTaskID    *int64 `json:"existing_task_id,omitempty"`
	ExistingOperation string `json:"existing_operation,omitempty"`
}
