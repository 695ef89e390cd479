package event

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// What the payloads write themselves is what encoding/json makes of them.
func TestPayloadsAppendWhatIsMarshaled(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "plain", "a\"b\\c", "<&>", "\x00\n\u2028", "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64()
		started := JobStartedPayload{n.Draw(t, "job"), text.Draw(t, "name"), n.Draw(t, "node"), n.Draw(t, "run"), n.Draw(t, "attempt")}
		ended := JobEndedPayload{
			JobID: n.Draw(t, "job"), JobName: text.Draw(t, "name"), Status: rapid.SampledFrom(workflow.JobStatuses()).Draw(t, "status"),
			ReturnCode: n.Draw(t, "code"), RunID: n.Draw(t, "run"), AttemptID: n.Draw(t, "attempt"),
			Cause: workflow.CauseKind(text.Draw(t, "cause")), Text: text.Draw(t, "text"), Category: text.Draw(t, "category"), Reason: text.Draw(t, "reason"),
			RoutedToEnd: rapid.Bool().Draw(t, "routed"), OriginalFailedJob: text.Draw(t, "original"),
		}
		for got, payload := range map[string]any{string(started.AppendJSON(nil)): started, string(ended.AppendJSON(nil)): ended} {
			want, err := json.Marshal(payload)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
	})
}
