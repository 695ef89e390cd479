package compute

// RemoteWorker is a host, as user@host:port, that may run a workflow's jobs.
type RemoteWorker struct {
	WorkflowID int64
	Worker     string
}
