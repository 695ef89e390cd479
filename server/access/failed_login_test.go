package access

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestFailedLogins(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var logins FailedLogins
	now := time.Unix(1000, 0)
	try := func(host string) {
		r := httptest.NewRequest(http.MethodPost, "/torc-service/v1/jobs", nil)
		r.RemoteAddr = host + ":4711"
		r.SetBasicAuth("eve\nlevel=ERROR "+strings.Repeat("x", 500), "s3cret")
		logins.Record(log, r, now)
	}
	for range 100 {
		try("10.0.0.1")
	}
	try("10.0.0.2")
	now = now.Add(failureInterval)
	try("10.0.0.1")
	text := out.String()
	if n := strings.Count(text, "\n"); n != 3 {
		t.Errorf("%d lines, want 3:\n%s", n, text)
	}
	for _, want := range []string{"address=10.0.0.1", "address=10.0.0.2", "credentials=basic", `eve\\nlevel`, "more_since_last_line=99", "path=/torc-service/v1/jobs"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "s3cret") || len(text) > 3*600 {
		t.Errorf("the secret, or too much, is in\n%s", text)
	}
}

// TestFailedLoginsOfManyHosts: the number of hosts that are counted separately is
// limited, and so are the lines about all others.
func TestFailedLoginsOfManyHosts(t *testing.T) {
	var logins FailedLogins
	now, lines := time.Unix(1000, 0), 0
	for i := range 10_000 {
		if _, due := logins.due(fmt.Sprint(i), now); due {
			lines++
		}
	}
	if lines != failureHosts+1 || len(logins.hosts) != failureHosts {
		t.Errorf("%d lines, %d hosts", lines, len(logins.hosts))
	}
	if _, due := logins.due("new", now.Add(failureInterval)); !due || len(logins.hosts) != 1 {
		t.Errorf("a host after the interval: due %v, %d hosts", due, len(logins.hosts))
	}
}
