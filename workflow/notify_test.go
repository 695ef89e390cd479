package workflow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotifyPolicyIsChecked(t *testing.T) {
	for _, tc := range []struct {
		policy NotifyPolicy
		want   string // of the problems; empty if there is none
	}{
		{NotifyPolicy{Mail: "ann@example.org, root"}, ""},
		{NotifyPolicy{On: []AlertKind{AlertNone}}, ""},
		{NotifyPolicy{On: []AlertKind{AlertRunFailed, AlertTimeout}, Webhook: "https://user:secret@example.org/a?b"}, ""},
		{NotifyPolicy{}, "it is empty"},
		{NotifyPolicy{On: []AlertKind{AlertNone, AlertTimeout}}, "none cannot be combined with other kinds"},
		{NotifyPolicy{On: []AlertKind{AlertTimeout, AlertTimeout}}, "duplicate timeout"},
		{NotifyPolicy{On: []AlertKind{AlertTest}}, `unknown kind of alert "test"`},
		{NotifyPolicy{Mail: "-s"}, `invalid mail address "-s"`},
		{NotifyPolicy{Mail: "ann@example.org,"}, `invalid mail address ""`},
		{NotifyPolicy{Mail: "|rm"}, `invalid mail address "|rm"`},
		{NotifyPolicy{Mail: "/etc/passwd"}, `invalid mail address "/etc/passwd"`},
		{NotifyPolicy{On: []AlertKind{AlertRunCompleted, AlertFirstFailure}, Webhook: "slack+https://hooks.example.org/a"}, ""},
		{NotifyPolicy{Webhook: "ntfy+https://ntfy.sh/topic"}, ""},
		{NotifyPolicy{Webhook: "teams+https://example.org/"}, "invalid URL"},
		{NotifyPolicy{Webhook: "ntfy+ntfy+https://example.org/"}, "invalid URL"},
		{NotifyPolicy{Webhook: "file:///etc/passwd"}, "invalid URL"},
		{NotifyPolicy{Webhook: "https://"}, "invalid URL"},
	} {
		err := ProblemsError("notify", tc.policy.Validate())
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: %v, want %q", tc.policy, err, tc.want)
		}
	}
}

func TestTargetsOfAnAlert(t *testing.T) {
	mail, hook := Target{NotifyMail, "ann"}, Target{NotifyWebhook, "https://x/y"}
	daemon := &NotifyPolicy{Mail: "ann"}
	for _, tc := range []struct {
		name             string
		workflow, daemon *NotifyPolicy
		kind             AlertKind
		want             []Target
	}{
		{"nobody says anything", nil, nil, AlertTimeout, nil},
		{"the daemon's default", nil, daemon, AlertTimeout, []Target{mail}},
		{"a kind on request", nil, daemon, AlertRunFailed, nil},
		{"the workflow chooses kinds", &NotifyPolicy{On: []AlertKind{AlertRunFailed}}, daemon, AlertRunFailed, []Target{mail}},
		{"the workflow chooses others", &NotifyPolicy{On: []AlertKind{AlertRunFailed}}, daemon, AlertTimeout, nil},
		{"the workflow has an address", &NotifyPolicy{Webhook: "https://x/y"}, daemon, AlertTimeout, []Target{hook}},
		{"the workflow wants nothing", &NotifyPolicy{On: []AlertKind{AlertNone}}, daemon, AlertTimeout, nil},
		{"a test goes to everybody", &NotifyPolicy{On: []AlertKind{AlertNone}, Mail: "ann", Webhook: "https://x/y"}, nil, AlertTest, []Target{mail, hook}},
	} {
		if diff := cmp.Diff(tc.want, tc.workflow.WithDefaults(tc.daemon).Targets(tc.kind)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestShownTargetsHaveNoSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"https://user:secret@example.org/hooks/T0K3N?key=1": "https://example.org/…",
		"http://localhost:8080":                             "http://localhost:8080",
		"https://example.org?key=1":                         "https://example.org/…",
		"https://%zz":                                       "a webhook",
	} {
		if got := (Target{NotifyWebhook, address}).Redacted(); got != want {
			t.Errorf("%s is shown as %s, want %s", address, got, want)
		}
	}
}

func TestAlertsAreBounded(t *testing.T) {
	a := Alert{Subject: "a\nb" + strings.Repeat("é", 300), Text: strings.Repeat("ü", 5000)}.Truncated()
	if len(a.Subject) > maxAlertSubject || len(a.Text) > maxAlertText || !strings.HasPrefix(a.Subject, "a b") || !strings.HasSuffix(a.Text, "ü…") {
		t.Errorf("%d and %d bytes: %q", len(a.Subject), len(a.Text), a.Subject)
	}
}
