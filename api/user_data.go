package api

import "encoding/json"

// UserData is a JSON value that jobs read or write.
type UserData struct {
	ID          *int64 `json:"id,omitempty"`
	WorkflowID  int64  `json:"workflow_id"`
	IsEphemeral *bool  `json:"is_ephemeral,omitempty"`
	Name        string `json:"name"`
	// Data is absent or null if there is none; lists have null.
	Data json.RawMessage `json:"data,omitempty"`
}

// UserDataList is the body of POST /bulk_user_data, and its answer.
type UserDataList struct {
	UserData []UserData `json:"user_data"`
}

// DeletedUserData is the answer to DELETE /user_data.
type DeletedUserData struct {
	Message      string `json:"message"`
	DeletedCount int64  `json:"deleted_count"`
}
