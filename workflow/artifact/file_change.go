package artifact

import "math"

// FileTime is when a file was last modified, in seconds since the epoch; nil if it does not
// exist.
type FileTime struct {
	FileID  int64
	ModTime *float64
}

// SameTime reports whether two times are equal, as precisely as JSON transmits them.
func SameTime(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) < 1e-5
}

// HasChanged reports whether a file is not as it was when the last run started. A file
// without a recorded time has changed only if it is the output of a completed job and gone.
func (f *File) HasChanged(now *float64, completedOutput bool) bool {
	return now == nil && completedOutput || f.ModTime != nil && !SameTime(f.ModTime, now)
}
