package access

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// FailedLogins logs requests that were rejected for their credentials: who tried, from
// where, never the secret. It logs repeated failures of a host at intervals, with their
// number, so that the log cannot be flooded. The zero value is ready to use.
type FailedLogins struct {
	mu     sync.Mutex
	hosts  map[string]*failures
	others failures // of the hosts beyond failureHosts
}

type failures struct {
	next   time.Time // when the next line may be written
	silent int       // failures without a line since the last one
}

const (
	// failureInterval is the time between two lines about a host.
	failureInterval = time.Minute
	// failureHosts is how many hosts are counted separately.
	failureHosts = 64
	// failureUser is how many bytes of a user name are logged.
	failureUser = 64
)

// Record logs a rejected request, or counts it.
func (f *FailedLogins) Record(log *slog.Logger, r *http.Request, now time.Time) {
	host := remoteHost(r)
	silent, due := f.due(host, now)
	if !due {
		return
	}
	attrs := []any{"address", host, "credentials", credentials(r), "method", r.Method, "path", escapeAndClip(r.URL.Path, 4*failureUser)}
	if name, _, ok := r.BasicAuth(); ok {
		attrs = append(attrs, "user", escapeAndClip(name, failureUser))
	}
	if silent > 0 {
		attrs = append(attrs, "more_since_last_line", silent)
	}
	log.Warn("a login failed", attrs...)
}

// due reports whether a line about a host may be logged, and how many failures were not.
func (f *FailedLogins) due(host string, now time.Time) (silent int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.hosts[host]
	if of == nil && len(f.hosts) >= failureHosts {
		for name, other := range f.hosts {
			if !now.Before(other.next) {
				delete(f.hosts, name)
			}
		}
	}
	switch {
	case of != nil:
	case len(f.hosts) >= failureHosts:
		of = &f.others
	default:
		if f.hosts == nil {
			f.hosts = map[string]*failures{}
		}
		of = &failures{}
		f.hosts[host] = of
	}
	if now.Before(of.next) {
		of.silent++
		return 0, false
	}
	silent, of.silent, of.next = of.silent, 0, now.Add(failureInterval)
	return silent, true
}

// credentials returns the kind of credentials of a request.
func credentials(r *http.Request) string {
	text := r.Header.Get("Authorization")
	if text == "" {
		return "none"
	}
	switch scheme, _, _ := strings.Cut(text, " "); strings.ToLower(scheme) {
	case "basic", "bearer":
		return strings.ToLower(scheme)
	}
	return "other"
}

// remoteHost returns the address of a request's client, without its port.
func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return escapeAndClip(r.RemoteAddr, failureUser) // a Unix socket has no peer address
	}
	return host
}

// escapeAndClip escapes a text from a client, and shortens it to n bytes.
func escapeAndClip(word string, n int) string {
	if len(word) > n {
		word = word[:n] + "…"
	}
	quoted := fmt.Sprintf("%q", word)
	return quoted[1 : len(quoted)-1]
}
