package workflow

import "fmt"

// RunIf says after what ends of its dependencies a job runs. The numbers are
// what the database stores.
type RunIf int8

// The conditions. A job that is not run after a failure is canceled; one that is
// run only after a failure is disabled if there was none: it was not needed. A
// job without dependencies runs.
const (
	RunIfSuccess RunIf = 0 // all were successful, or not needed
	RunIfAlways  RunIf = 1 // all are complete
	RunIfFailure RunIf = 2 // all are complete, and one was not successful
)

var runIfNames = [...]string{RunIfSuccess: "success", RunIfAlways: "always", RunIfFailure: "failure"}

// ParseRunIf reads a condition as users write it; the empty text is success.
func ParseRunIf(name string) (RunIf, error) {
	if name == "" {
		return RunIfSuccess, nil
	}
	for c, n := range runIfNames {
		if n == name {
			return RunIf(c), nil
		}
	}
	return 0, Errorf(CodeInvalid, "%q is not a value for run_if", name).WithHint("use success, always or failure")
}

// RunIfOf returns the condition that torc's cancel_on_blocking_job_failure
// stands for.
func RunIfOf(cancelOnFailure bool) RunIf {
	if cancelOnFailure {
		return RunIfSuccess
	}
	return RunIfAlways
}

// CancelOnFailure is torc's cancel_on_blocking_job_failure.
func (c RunIf) CancelOnFailure() bool { return c == RunIfSuccess }

// String returns the name that users write.
func (c RunIf) String() string {
	if c < 0 || int(c) >= len(runIfNames) {
		return fmt.Sprintf("run_if(%d)", int8(c))
	}
	return runIfNames[c]
}

// MarshalText writes the name.
func (c RunIf) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the name.
func (c *RunIf) UnmarshalText(text []byte) error {
	parsed, err := ParseRunIf(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}
