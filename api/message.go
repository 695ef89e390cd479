package api

// Message is an answer without data.
type Message struct {
	Message string `json:"message"`
}

// DeleteCount says how many rows a bulk delete removed.
type DeleteCount struct {
	Count int64 `json:"count"`
}

// Ping is the answer to GET /ping.
type Ping struct {
	Status string `json:"status"`
}

// VersionInfo is the answer to GET /version.
type VersionInfo struct {
	Version    string `json:"version"`
	APIVersion string `json:"api_version"`
	GitHash    string `json:"git_hash,omitempty"`
	// Database identifies the server's database. Runners and clients keep the files of its
	// jobs apart by it.
	Database string `json:"database,omitempty"`
}

// ReloadedAuth says that the authentication file was read again.
type ReloadedAuth struct {
	Message   string `json:"message"`
	UserCount int64  `json:"user_count"`
}
