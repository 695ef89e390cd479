// Package artifact has the files and user data that jobs read and write, and detects
// whether the inputs of a job have changed.
package artifact

// File is a file that jobs read or write.
type File struct {
	ID         int64
	WorkflowID int64
	Name       string
	Path       string
	Identifier *string  // stays the same when the path changes
	ModTime    *float64 // seconds since the epoch; nil if it did not exist
}

// JobFileRelationship links the producer of a file with a consumer. One of them may be
// missing.
type JobFileRelationship struct {
	FileID          int64   `json:"file_id"`
	FileName        string  `json:"file_name"`
	FilePath        string  `json:"file_path"`
	ProducerJobID   *int64  `json:"producer_job_id,omitempty"`
	ProducerJobName *string `json:"producer_job_name,omitempty"`
	ConsumerJobID   *int64  `json:"consumer_job_id,omitempty"`
	ConsumerJobName *string `json:"consumer_job_name,omitempty"`
	WorkflowID      int64   `json:"workflow_id"`
}
