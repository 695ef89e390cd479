package api

// TestAlert is the alert that was raised for a test.
type TestAlert struct {
	AlertID int64 `json:"alert_id"`
}
