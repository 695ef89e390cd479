// Package access decides who may call the daemon and which requests are let in,
// before anybody looks at what they want.
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

// Origins rejects what a web browser sends because a page of somebody else told
// it to: the browser of a user reaches this user's daemon, whoever wrote the
// page. Programs that are no browsers send nothing that it looks at but the
// name of the host.
type Origins struct {
	names []string // of this machine and of those who speak for it, in lower case
	cross http.CrossOriginProtection
	owns  func(ip net.IP) bool // whether an address is one of this machine
}

// NewOrigins returns the rules for a server. hosts are names and addresses by
// which it is reached, besides localhost, those of this machine, and the address
// that a request came in at.
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

// Check returns why a request is refused, nil if it is not.
func (o *Origins) Check(r *http.Request) error {
	if err := o.host(r); err != nil {
		return err
	}
	return o.origin(r)
}

// host refuses names that are not ours: a page of theirs whose name leads to our
// address would count as ours for the browser (DNS rebinding).
func (o *Origins) host(r *http.Request) error {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := at.(*net.TCPAddr)
	if !ok || r.Host == "" {
		return nil // a Unix socket, or a program that is older than HTTP/1.1
	}
	host := hostOf(r.Host)
	if slices.Contains(o.names, host) {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.Equal(tcp.IP) || o.owns(ip)) {
		return nil
	}
	return workflow.Errorf(workflow.CodeForbidden, "%q is no name of this server", cut(r.Host, maxHost)).
		WithHint("use the address %s, or let the server know the name: server.allowed_hosts in its configuration, or serve --allowed-host NAME", at)
}

// maxHost is the longest name of a host.
const maxHost = 255

// hostOf is the host of a Host header in lower case, without its port.
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

// origin rejects what a page of another origin sends, whatever it asks for, save
// for a link that somebody followed.
func (o *Origins) origin(r *http.Request) error {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if site == "" && origin == "" || isSafe(r) && origin == "" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return nil
	}
	asked := &http.Request{Method: http.MethodPost, Header: r.Header, Host: r.Host, URL: r.URL} // reading is no better than writing
	if o.cross.Check(asked) == nil || o.trusts(origin) {
		return nil
	}
	return workflow.Errorf(workflow.CodeForbidden, "a page of another site (%s) may not use this server", cut(cmp.Or(origin, site), maxHost)).
		WithHint("let the server know the host of the page, if you trust it: server.allowed_hosts in its configuration, or serve --allowed-host NAME")
}

// trusts reports whether the pages of an origin are those of a name of ours. On
// this host there are servers of other users, so that the port has to be right.
func (o *Origins) trusts(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && slices.Contains(o.names, strings.ToLower(u.Host))
}

func isSafe(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// CheckMedia refuses the types that a page can send to anybody without asking,
// those of forms and none, since old browsers do not say which site a request is
// from. want is what the request should have had.
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

// MediaError refuses the content type of a request and says what to send.
func MediaError(r *http.Request, want string) error {
	got := "nothing"
	if header := r.Header.Get("Content-Type"); header != "" {
		got = cut(header, maxHost)
	}
	return fmt.Errorf("Content type error: send %s, not %s; with curl: -H 'content-type: %s'", want, got, want) //nolint:staticcheck // torc's words
}
