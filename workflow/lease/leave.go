package lease

// LeaveRequest deregisters a runner. Leases that it still holds are revoked.
type LeaveRequest struct {
	Reason          string  `json:"reason"`
	DurationSeconds float64 `json:"duration_seconds"`
	SampleCount     int64   `json:"sample_count,omitempty"`
	PeakCPUPercent  float64 `json:"peak_cpu_percent,omitempty"`
	AvgCPUPercent   float64 `json:"avg_cpu_percent,omitempty"`
	PeakMemoryBytes int64   `json:"peak_memory_bytes,omitempty"`
	AvgMemoryBytes  int64   `json:"avg_memory_bytes,omitempty"`
}

// LeaveResponse answers LeaveRequest.
type LeaveResponse struct {
	GivenBack int64 `json:"given_back"` // number of claimed jobs that are ready again
}
