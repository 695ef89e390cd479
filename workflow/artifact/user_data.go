package artifact

import "encoding/json"

// UserData is a JSON value that jobs read or write.
type UserData struct {
	ID          int64
	WorkflowID  int64
	IsEphemeral bool
	Name        string
	Data        json.RawMessage // nil for null and for not there
}

// JobUserDataRelationship links a record's producer with a consumer; either
// may be missing, not both.
type JobUserDataRelationship struct {
	UserDataID      int64
	UserDataName    string
	ProducerJobID   *int64
	ProducerJobName *string
	ConsumerJobID   *int64
	ConsumerJobName *string
	WorkflowID      int64
}
