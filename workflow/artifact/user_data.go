package artifact

import "encoding/json"

// UserData is a JSON value that jobs read or write.
type UserData struct {
	ID          int64
	WorkflowID  int64
	IsEphemeral bool
	Name        string
	Data        json.RawMessage // nil for null or if there is no value
}

// JobUserDataRelationship links the producer of a record with a consumer. One of them may
// be missing.
type JobUserDataRelationship struct {
	UserDataID      int64   `json:"user_data_id"`
	UserDataName    string  `json:"user_data_name"`
	ProducerJobID   *int64  `json:"producer_job_id,omitempty"`
	ProducerJobName *string `json:"producer_job_name,omitempty"`
	ConsumerJobID   *int64  `json:"consumer_job_id,omitempty"`
	ConsumerJobName *string `json:"consumer_job_name,omitempty"`
	WorkflowID      int64   `json:"workflow_id"`
}
