package api

// TestAlert is an alert that was raised as a test.
type TestAlert struct {
	AlertID int64 `json:"alert_id"`
}
