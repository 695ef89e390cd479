package workflow

import "fmt"

// RunIf says for which outcomes of its dependencies a job runs. The database stores the
// numbers.
type RunIf int8

// The conditions. A job with RunIfSuccess is canceled if a dependency was not successful. A
// job with RunIfFailure is disabled, because it is not needed, if all were. A job without
// dependencies always runs.
const (
	RunIfSuccess RunIf = 0 // all were successful, or not needed
	RunIfAlways  RunIf = 1 // all are complete
	RunIfFailure RunIf = 2 // all are complete, and one was not successful
)

var runIfNames = [...]string{RunIfSuccess: "success", RunIfAlways: "always", RunIfFailure: "failure"}

// ParseRunIf returns the condition with a name; "" means success. It returns an error of
// CodeInvalid for an unknown name.
func ParseRunIf(name string) (RunIf, error) {
	if name == "" {
		return RunIfSuccess, nil
	}
	for c, n := range runIfNames {
		if n == name {
			return RunIf(c), nil
		}
	}
	return 0, Errorf(CodeInvalid, "invalid value %q of run_if", name).WithHint("use success, always or failure")
}

// RunIfOf returns the condition for a value of torc's cancel_on_blocking_job_failure.
func RunIfOf(cancelOnFailure bool) RunIf {
	if cancelOnFailure {
		return RunIfSuccess
	}
	return RunIfAlways
}

// CancelOnFailure returns the value of torc's cancel_on_blocking_job_failure.
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

// UnmarshalText reads the name, with the errors of ParseRunIf.
func (c *RunIf) UnmarshalText(text []byte) error {
	parsed, err := ParseRunIf(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}
