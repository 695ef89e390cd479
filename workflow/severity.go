package workflow

// Level is the severity as a number, which grows with it: 0 is debug.
func (s Severity) Level() int { return s.rank() }

// SeverityOf is the severity of a level.
func SeverityOf(level int) Severity {
	for _, s := range []Severity{SeverityDebug, SeverityWarning, SeverityError} {
		if s.rank() == level {
			return s
		}
	}
	return SeverityInfo
}
