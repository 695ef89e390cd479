package event

// Severity is the severity of an event.
type Severity string

// The severities, ascending.
const (
	SeverityDebug   Severity = "debug"
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

// severities has all severities in the order of their levels.
var severities = []Severity{SeverityDebug, SeverityInfo, SeverityWarning, SeverityError}

// Level returns the severity as a number, ascending from 0 for debug. An unknown severity
// counts as info.
func (s Severity) Level() int {
	for level, known := range severities {
		if s == known {
			return level
		}
	}
	return SeverityInfo.Level()
}

// SeverityOf returns the severity of a level; info if there is no such level.
func SeverityOf(level int) Severity {
	if level < 0 || level >= len(severities) {
		return SeverityInfo
	}
	return severities[level]
}

// AtLeast reports whether the severity is at least a level. Unknown severities count as
// info.
func (s Severity) AtLeast(level Severity) bool { return s.Level() >= level.Level() }
