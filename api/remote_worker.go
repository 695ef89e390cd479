package api

// RemoteWorker is a host on which a user wants runners.
type RemoteWorker struct {
	Worker     string `json:"worker"`
	WorkflowID int64  `json:"workflow_id"`
}
