package workflow

import "strings"

// AlertKind names what an alert is about.
type AlertKind string

// The kinds of alerts. The last ones are raised only where somebody is to be
// told of them.
const (
	AlertTimeout        AlertKind = "timeout"         // a timeout of a job expired whose policy is to say so
	AlertDeadline       AlertKind = "deadline"        // a workflow's deadline has passed
	AlertCircuitBreaker AlertKind = "circuit_breaker" // one opened
	AlertMaxFailures    AlertKind = "max_failures"    // claims are held back
	AlertTest           AlertKind = "test"            // somebody tries whether messages arrive
	AlertRunFailed      AlertKind = "run_failed"      // a run ended without success
	AlertJobHeld        AlertKind = "job_held"        // a job waits for a classification
)

// defaultAlerts are the kinds that somebody is told of who names none.
var defaultAlerts = []AlertKind{AlertTimeout, AlertDeadline, AlertCircuitBreaker, AlertMaxFailures}

// AlertKinds are the kinds that a user can choose.
func AlertKinds() []AlertKind {
	return append(defaultAlerts[:len(defaultAlerts):len(defaultAlerts)], AlertRunFailed, AlertJobHeld)
}

// OnRequest reports whether alerts of the kind are raised only where somebody is
// to be told of them: events say the same.
func (k AlertKind) OnRequest() bool { return k == AlertRunFailed || k == AlertJobHeld }

// Alert tells people of something that they may have to look at. It changes
// nothing by itself.
type Alert struct {
	Kind       AlertKind `json:"kind"`
	WorkflowID int64     `json:"workflow_id"`
	RunID      int64     `json:"run_id"`
	JobID      int64     `json:"job_id,omitempty"` // 0: it is about the workflow
	JobName    string    `json:"job_name,omitempty"`
	Subject    string    `json:"subject"`        // one line
	Text       string    `json:"text,omitempty"` // what else is known; may have several lines
}

// Lengths of what is kept of an alert, in bytes.
const (
	maxAlertSubject = 200
	maxAlertText    = 4000
)

// Bounded is the alert with a subject of one printable line, and with texts that
// are not longer than what is kept of them.
func (a Alert) Bounded() Alert {
	a.Subject = shortened(OneLine(a.Subject), maxAlertSubject)
	a.Text = shortened(a.Text, maxAlertText)
	return a
}

// shortened is text with at most limit bytes and no part of a character at its
// end.
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

// Delivery is a message about an alert on its way to somebody.
type Delivery struct {
	Way     NotifyWay     `json:"way"`
	Address string        `json:"address"` // without what is secret in it
	State   DeliveryState `json:"state"`
	Tries   int64         `json:"tries"`
	AtMS    int64         `json:"at_ms,omitempty"` // of the latest try, or when it is to be tried first
	Error   string        `json:"error,omitempty"` // of the latest try
}

// DeliveryState is how far a message has come.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending DeliveryState = "pending"
	DeliverySent    DeliveryState = "sent"
	DeliveryFailed  DeliveryState = "failed" // after the last try
)

// RaisedAlert is an alert as it was recorded, with what became of its messages.
type RaisedAlert struct {
	ID   int64 `json:"id"`
	AtMS int64 `json:"at_ms"`
	Alert
	Deliveries []Delivery `json:"deliveries"`
}
