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

// FailedLogins writes requests that were refused for their credentials into a
// log: who tried, from where, never the secret. Whoever tries often gets a line
// now and then, so that the log cannot be filled, and the line says how many
// there were. The zero value is ready.
type FailedLogins struct {
	mu     sync.Mutex
	hosts  map[string]*failures
	others failures // of the hosts for which there was no place
}

type failures struct {
	next   time.Time // when the next line may be written
	silent int       // how many had none since the last one
}

const (
	// failureInterval is the time between two lines about a host.
	failureInterval = time.Minute
	// failureHosts is how many hosts are told apart.
	failureHosts = 64
	// failureUser is how much of a name that was tried is written, in bytes.
	failureUser = 64
)

// Note notes a refused request.
func (f *FailedLogins) Note(log *slog.Logger, r *http.Request, now time.Time) {
	host := remoteHost(r)
	silent, due := f.due(host, now)
	if !due {
		return
	}
	attrs := []any{"address", host, "credentials", credentials(r), "method", r.Method, "path", cut(r.URL.Path, 4*failureUser)}
	if name, _, ok := r.BasicAuth(); ok {
		attrs = append(attrs, "user", cut(name, failureUser))
	}
	if silent > 0 {
		attrs = append(attrs, "more_since_last_line", silent)
	}
	log.Warn("a login failed", attrs...)
}

// due reports whether a line about a host may be written, and how many there
// were without one.
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

// credentials is which kind of credentials a request has.
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

// remoteHost is the address of a request's client, without its port.
func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return cut(r.RemoteAddr, failureUser) // a Unix socket has no name for its peer
	}
	return host
}

// cut escapes a client's word, and shortens it to n bytes.
func cut(word string, n int) string {
	if len(word) > n {
		word = word[:n] + "…"
	}
	quoted := fmt.Sprintf("%q", word)
	return quoted[1 : len(quoted)-1]
}
