package api

// RemoteWorker is a host that a user wants runners on.
type RemoteWorker struct {
	Worker     string `json:"worker"`
	WorkflowID int64  `json:"workflow_id"`
}
