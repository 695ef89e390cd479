// Package access decides which callers and requests the daemon admits, before they are
// processed.
package access

import (
	"cmp"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Origins rejects requests that a web browser sends on behalf of pages of other sites. A
// browser can reach its user's daemon for any page. Of programs other than browsers it
// checks only the Host header.
type Origins struct {
	names []string // of this machine and its proxies, in lower case
	cross http.CrossOriginProtection
	owns  func(ip net.IP) bool // whether an address is one of this machine
}

// NewOrigins returns the rules for a server. hosts are names and addresses by which it is
// reached, besides localhost, those of this machine, and the address at which a request
// arrived.
func NewOrigins(hosts ...string) *Origins {
	o := &Origins{owns: ownAddress}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		hosts = append(hosts, name, short)
	}
	for _, h := range append(hosts, "localhost") {
		if h = strings.ToLower(strings.TrimSuffix(h, ".")); h != "" && !slices.Contains(o.names, h) {
			o.names = append(o.names, h)
		}
	}
	return o
}

// Check returns an error with CodeForbidden if a request is rejected.
func (o *Origins) Check(r *http.Request) error {
	if err := o.host(r); err != nil {
		return err
	}
	return o.origin(r)
}

// host rejects unknown names of the server. A name that an attacker points to our address
// would make their page appear as ours to the browser (DNS rebinding).
func (o *Origins) host(r *http.Request) error {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := at.(*net.TCPAddr)
	if !ok || r.Host == "" {
		return nil // a Unix socket, or a client older than HTTP/1.1
	}
	host := hostOf(r.Host)
	if slices.Contains(o.names, host) {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.Equal(tcp.IP) || o.owns(ip)) {
		return nil
	}
	return workflow.Errorf(workflow.CodeForbidden, "%q is not a known name of this server", escapeAndClip(r.Host, maxHost)).
		WithHint("use the address %s, or allow the name: server.allowed_hosts in the configuration of the server, or serve --allowed-host NAME", at)
}

// maxHost is the longest name of a host.
const maxHost = 255

// hostOf returns the host of a Host header in lower case, without its port.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// ownAddress reports whether an address is one of this machine.
func ownAddress(ip net.IP) bool {
	all, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(all, func(a net.Addr) bool {
		of, ok := a.(*net.IPNet)
		return ok && of.IP.Equal(ip)
	})
}

// origin rejects all requests of pages of other origins, except for links that the user
// followed.
func (o *Origins) origin(r *http.Request) error {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if site == "" && origin == "" || isSafe(r) && origin == "" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return nil
	}
	asked := &http.Request{Method: http.MethodPost, Header: r.Header, Host: r.Host, URL: r.URL} // treat reads like writes
	if o.cross.Check(asked) == nil || o.trusts(origin) {
		return nil
	}
	return workflow.Errorf(workflow.CodeForbidden, "a page of another site (%s) may not use this server", escapeAndClip(cmp.Or(origin, site), maxHost)).
		WithHint("if you trust the page, allow its host: server.allowed_hosts in the configuration of the server, or serve --allowed-host NAME")
}

// trusts reports whether an origin is one of our names. On this host the port must match
// as well, because other users run servers there.
func (o *Origins) trusts(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && slices.Contains(o.names, strings.ToLower(u.Host))
}

func isSafe(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// CheckMedia rejects the content types that a page can send to any site without
// permission: those of forms, and none. Old browsers do not say which site a request is
// from. want is the expected type.
func CheckMedia(r *http.Request, want string) error {
	if isSafe(r) {
		return nil
	}
	header := r.Header.Get("Content-Type")
	if header == "" && r.ContentLength == 0 {
		return nil
	}
	media, _, err := mime.ParseMediaType(header)
	switch media {
	case "application/x-www-form-urlencoded", "multipart/form-data", "text/plain":
	default:
		if err == nil {
			return nil
		}
	}
	return MediaError(r, want)
}

// MediaError returns the error for a wrong content type, which says what to send.
func MediaError(r *http.Request, want string) error {
	got := "nothing"
	if header := r.Header.Get("Content-Type"); header != "" {
		got = escapeAndClip(header, maxHost)
	}
	return fmt.Errorf("Content type error: send %s, not %s; with curl: -H 'content-type: %s'", want, got, want) //nolint:staticcheck // torc's words
}
