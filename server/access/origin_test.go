package access

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// asked returns a request at one of our addresses.
func asked(t *testing.T, at net.Addr, method, host string, header ...string) *http.Request {
	t.Helper()
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, at)
	r := httptest.NewRequestWithContext(ctx, method, "/torc-service/v1/jobs", nil)
	r.Host = host
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestHosts(t *testing.T) {
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	o := NewOrigins("login1.cluster.example", "0.0.0.0", "")
	o.owns = func(ip net.IP) bool { return ip.String() == "192.0.2.7" }
	at := &net.TCPAddr{IP: net.ParseIP("192.0.2.9"), Port: 8080}
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST:1": true, "127.0.0.1:8080": true, "127.0.0.1": true, "[::1]:8080": true, "[::1]": true,
		"192.0.2.9:8080": true, "192.0.2.7": true, "login1.cluster.example:8080": true, "login1.cluster.example.:8080": true, here: true, "": true,
		"evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "login1.evil.example": false, "192.0.2.8": false,
		"127.0.0.1.evil.example": false, "localhost:8080:evil.example": false,
	} {
		err := o.Check(asked(t, at, http.MethodGet, host))
		if (err == nil) != want {
			t.Errorf("%q: %v", host, err)
		}
		if err != nil && (workflow.CodeOf(err) != workflow.CodeForbidden || !strings.Contains(err.Error(), "--allowed-host")) {
			t.Errorf("%q: %v does not say what to do", host, err)
		}
	}
	if err := o.Check(asked(t, &net.UnixAddr{Name: "/x", Net: "unix"}, http.MethodGet, "anything")); err != nil {
		t.Errorf("on a socket: %v", err)
	}
}

func TestForeignPages(t *testing.T) {
	o := NewOrigins("portal.example")
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	const here = "localhost:8080"
	for _, c := range []struct {
		what   string
		method string
		header []string
		want   bool
	}{
		{"a program", "POST", nil, true},
		{"our page", "POST", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:8080"}, true},
		{"our page in an old browser", "POST", []string{"Origin", "http://localhost:8080"}, true},
		{"a typed address", "GET", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, true},
		{"a link on another page", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, true},
		{"a trusted page", "POST", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://portal.example"}, true},
		{"a form", "POST", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Origin", "http://evil.example"}, false},
		{"a form in an old browser", "POST", []string{"Origin", "http://evil.example"}, false},
		{"a script", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, false},
		{"a script in an old browser", "GET", []string{"Origin", "http://evil.example"}, false},
		{"a sandboxed frame", "POST", []string{"Origin", "null"}, false},
		{"another server on this host", "DELETE", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://localhost:3000"}, false},
		{"another server on this host, old browser", "DELETE", []string{"Origin", "http://localhost:3000"}, false},
		{"a name that begins like a trusted one", "POST", []string{"Origin", "https://portal.example.evil.example"}, false},
	} {
		err := o.Check(asked(t, at, c.method, here, c.header...))
		if (err == nil) != c.want {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestFormsHaveNoEffect(t *testing.T) {
	for _, c := range []struct {
		method, media, body string
		want                bool
	}{
		{"POST", "", "", true},
		{"DELETE", "", "", true},
		{"POST", "application/json", "{}", true},
		{"POST", "application/json; charset=utf-8", "", true},
		{"POST", "application/x-ndjson", "{}", true},
		{"GET", "text/plain", "", true},
		{"POST", "", "null", false},
		{"POST", "text/plain", "{}", false},
		{"POST", "text/plain; charset=utf-8", "{}", false},
		{"POST", "TEXT/PLAIN", "", false},
		{"POST", "application/x-www-form-urlencoded", "", false},
		{"PUT", "multipart/form-data; boundary=x", "x", false},
		{"POST", "application/json, text/plain", "{}", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/x", strings.NewReader(c.body))
		if c.media != "" {
			r.Header.Set("Content-Type", c.media)
		}
		err := CheckMedia(r, "application/json")
		if (err == nil) != c.want {
			t.Errorf("%s %q %q: %v", c.method, c.media, c.body, err)
		}
		if err != nil && !strings.Contains(err.Error(), "-H 'content-type: application/json'") {
			t.Errorf("%v does not say what to do", err)
		}
	}
}
