package api

// Kinds of errors, as they stand in ErrorDetail.Error.
const (
	KindNotFound     = "NotFound"
	KindForbidden    = "Forbidden"
	KindConflict     = "Conflict"
	KindUnavailable  = "Unavailable"
	KindInternal     = "InternalServerError"
	KindNoAuthFile   = "NoAuthFile"
	KindReloadFailed = "ReloadFailed"
	KindUnfit        = "Unfit" // jobs that can never run where a run is to begin
)

// ErrorResponse is the body of a refusal that a handler made. Requests that do
// not get as far as a handler (syntax, types, media type) are answered in plain
// text.
type ErrorResponse struct {
	Error ErrorDetail `json:"error"`
}

// ErrorDetail says what was wrong.
type ErrorDetail struct {
	Error   string `json:"error,omitempty"` // the kind; see the Kind constants
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do about it
	// Field and Value name the part of the request that was wrong.
	Field string `json:"field,omitempty"`
	Value any    `json:"value,omitempty"`
	// Claimed is false, and there, if somebody else has claimed the action.
	Claimed *bool `json:"claimed,omitempty"`
	// ExistingTaskID and ExistingOperation name the task in the way.
	ExistingTaskID    *int64 `json:"existing_task_id,omitempty"`
	ExistingOperation string `json:"existing_operation,omitempty"`
}
