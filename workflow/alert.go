package workflow

import (
	"slices"
	"strings"
)

// AlertKind names what an alert is about.
type AlertKind string

// The kinds of alerts. Those that are opt-in are raised only if a user has asked for messages
// about them.
const (
	AlertTimeout        AlertKind = "timeout"         // a job's timeout with the policy alert expired
	AlertDeadline       AlertKind = "deadline"        // a workflow's deadline has passed
	AlertCircuitBreaker AlertKind = "circuit_breaker" // a circuit breaker opened
	AlertMaxFailures    AlertKind = "max_failures"    // claims are held after too many failures
	AlertDecision       AlertKind = "decision"        // an agent was asked about held jobs, and a person has to decide
	AlertTest           AlertKind = "test"            // a user tests whether messages arrive
	AlertRunFailed      AlertKind = "run_failed"      // a run ended without success
	AlertRunCompleted   AlertKind = "run_completed"   // a run ended with success
	AlertFirstFailure   AlertKind = "first_failure"   // the first job of a run failed, and is not retried
	AlertJobHeld        AlertKind = "job_held"        // a job waits for a classification
)

// defaultAlerts are the kinds that apply if the user names none.
var defaultAlerts = []AlertKind{AlertTimeout, AlertDeadline, AlertCircuitBreaker, AlertMaxFailures, AlertDecision}

// optInAlerts are the kinds that are raised only on request.
var optInAlerts = []AlertKind{AlertRunFailed, AlertRunCompleted, AlertFirstFailure, AlertJobHeld}

// AlertKinds returns the kinds that a user can choose.
func AlertKinds() []AlertKind { return slices.Concat(defaultAlerts, optInAlerts) }

// IsOptIn reports whether alerts of the kind are raised only if a user has asked for
// messages about them. Events report the same in any case.
func (k AlertKind) IsOptIn() bool { return slices.Contains(optInAlerts, k) }

// IsGood reports whether an alert of the kind tells nothing bad.
func (k AlertKind) IsGood() bool { return k == AlertTest || k == AlertRunCompleted }

// Alert tells users about something that may need their attention. It changes nothing
// by itself.
type Alert struct {
	Kind       AlertKind `json:"kind"`
	WorkflowID int64     `json:"workflow_id"`
	RunID      int64     `json:"run_id"`
	JobID      int64     `json:"job_id,omitempty"` // 0: it is about the workflow
	JobName    string    `json:"job_name,omitempty"`
	Subject    string    `json:"subject"`        // one line
	Text       string    `json:"text,omitempty"` // details; may have several lines
}

// The maximum lengths of an alert's texts, in bytes.
const (
	maxAlertSubject = 200
	maxAlertText    = 4000
)

// Truncated returns the alert with a subject of one printable line and with both texts
// cut to their maximum lengths.
func (a Alert) Truncated() Alert {
	a.Subject = shortened(OneLine(a.Subject), maxAlertSubject)
	a.Text = shortened(a.Text, maxAlertText)
	return a
}

// shortened returns the text, cut to at most limit bytes at the end of a character.
func shortened(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

// AlertPayload is the data of EventAlert.
type AlertPayload struct {
	Category string `json:"category"` // alert
	AlertID  int64  `json:"alert_id"`
	Alert
}

// Delivery is a message about an alert to one recipient.
type Delivery struct {
	Channel NotifyChannel `json:"way"`
	Address string        `json:"address"` // without secret parts
	State   DeliveryState `json:"state"`
	Tries   int64         `json:"tries"`
	AtMS    int64         `json:"at_ms,omitempty"` // time of the latest try, or of the first one to come
	Error   string        `json:"error,omitempty"` // of the latest try
}

// DeliveryState says whether a message has been sent.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending DeliveryState = "pending"
	DeliverySent    DeliveryState = "sent"
	DeliveryFailed  DeliveryState = "failed" // after the last try
)

// RaisedAlert is a recorded alert with the state of its messages.
type RaisedAlert struct {
	ID   int64 `json:"id"`
	AtMS int64 `json:"at_ms"`
	Alert
	Deliveries []Delivery `json:"deliveries"`
}
