package api

// File is a file that jobs read or write.
type File struct {
	ID         *int64   `json:"id,omitempty"`
	WorkflowID int64    `json:"workflow_id"`
	Name       string   `json:"name"`
	Path       string   `json:"path"`
	ModTime    *float64 `json:"st_mtime,omitempty"` // seconds since the epoch
}

// Files is the body of POST /bulk_files, and its answer.
type Files struct {
	Files []File `json:"files"`
}

// DeletedFiles is the answer to DELETE /files; torc's clients read either key.
type DeletedFiles struct {
	DeletedCount int64 `json:"deleted_count"`
	Count        int64 `json:"count"`
}
