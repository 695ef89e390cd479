package event

// Severity of an event.
type Severity string

// The severities, rising.
const (
	SeverityDebug   Severity = "debug"
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

// severities in the order of their levels.
var severities = []Severity{SeverityDebug, SeverityInfo, SeverityWarning, SeverityError}

// Level is the severity as a number, which grows with it: 0 is debug. An
// unknown severity counts as info.
func (s Severity) Level() int {
	for level, known := range severities {
		if s == known {
			return level
		}
	}
	return SeverityInfo.Level()
}

// SeverityOf is the severity of a level; info if there is no such level.
func SeverityOf(level int) Severity {
	if level < 0 || level >= len(severities) {
		return SeverityInfo
	}
	return severities[level]
}

// AtLeast reports whether an event of this severity is shown at a level. An
// unknown level is info.
func (s Severity) AtLeast(level Severity) bool { return s.Level() >= level.Level() }
