package retry_test

import (
	"strings"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// decide is the decision about an attempt.
func decide(p retry.Policies, h History, f Failure) Decision {
	return retry.Decide(retry.Facts{Policies: p, History: h, Failure: f}).Decision
}

// decideRecovery is the decision about a recovery script that has failed.
func decideRecovery(p retry.Policies, h History, f Failure, onError Action) Decision {
	d := retry.Decide(retry.Facts{Policies: p, History: h, Failure: f, Script: &retry.ScriptEnd{Failed: true, OnError: onError}}).Decision
	d.Reason = strings.TrimPrefix(d.Reason, "its recovery script failed with return code 0; ")
	return d
}

// decideClassified is the decision about a held job that is worth a retry.
func decideClassified(p retry.Policies, h History, author string) (Decision, error) {
	o := retry.Decide(retry.Facts{Policies: p, History: h, Retried: &retry.RetryVerdict{Classification: hold.Classification{Status: Ready, Author: author}}})
	return o.Decision, o.Refused
}
