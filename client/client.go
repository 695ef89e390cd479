// Package client is the typed client of the HTTP API, used by the command line, the runner
// and other surfaces.
package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/peer"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// Options are the address of the daemon and the credentials of the caller.
type Options struct {
	// URL is the base of the API, for example
	// http://localhost:8080/torc-service/v1.
	URL string
	// Token is sent as a bearer token over TLS, and without TLS only to a server on
	// this host that requests it; empty for none.
	Token string
	// TokenFile, if not empty, is read when the server rejects the token, since a
	// restarted daemon has a new one.
	TokenFile string
	// User and Password are sent by basic authentication if there is a
	// Password and no Token; without TLS only to servers of the same user.
	User     string
	Password string
	// Cookie is sent as the Cookie header; empty for none.
	Cookie string
	// CACert is a PEM file with the certificate authorities to trust instead of the
	// system's; empty for the system's.
	CACert string
	// Insecure accepts any certificate.
	Insecure bool
	// Locate, if not nil, returns the current address of the server. It is called for
	// each connection, since the server may have moved from the host of the URL.
	Locate func() Place
	// CAFingerprint, if not empty, is the SHA-256 of the only certificate that
	// is accepted, in hexadecimal.
	CAFingerprint string
	// Retries is how often a failed request is repeated; 4 if zero, never if
	// negative. A request that is not idempotent is not repeated.
	Retries int
	// Door is how changes come in whose context has no door; empty: not said.
	Door audit.Door
	// Log, if not nil, receives a line per retry at level debug.
	Log *slog.Logger
	// PeerUID asks the kernel for the user at the other end of a connection; peer.UID
	// if nil.
	PeerUID func(net.Conn) (uint32, error)
}

// Place is where a server listens on this host.
type Place struct {
	Socket  string // path of its Unix socket; empty if it has none
	Address string // host and port on TCP; empty: those of the URL
}

// Client makes calls to a daemon; they are methods of its nouns. It is safe for concurrent
// use.
type Client struct {
	*conn

	Actions               Actions
	Alerts                Alerts
	Allocations           Allocations
	Breakers              Breakers
	ComputeNodes          ComputeNodes
	Events                Events
	FailureHandlers       FailureHandlers
	Files                 Files
	Holds                 Holds
	Jobs                  Jobs
	Proposals             Proposals
	ResourceRequirements  ResourceRequirements
	Results               Results
	RetryPolicies         RetryPolicies
	Runners               Runners
	ScheduledComputeNodes ScheduledComputeNodes
	SlurmSchedulers       SlurmSchedulers
	SlurmStats            SlurmStats
	Tasks                 Tasks
	UserData              UserData
	Workflows             Workflows
}

// conn makes the calls.
type conn struct {
	base string
	http *retryablehttp.Client
	door audit.Door // of calls whose context has none; empty: not said
}

// New returns a client, which connects with its first call. The error is about the options:
// an invalid URL, or a CACert that cannot be read.
func New(o Options) (*Client, error) {
	if o.URL == "" {
		return nil, errors.New("client: no URL")
	}
	base, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	listener := &listenerCheck{dialer: net.Dialer{Timeout: dialTime}, locate: o.Locate, given: o.given(), uid: o.PeerUID, log: o.Log}
	if listener.uid == nil {
		listener.uid = peer.UID
	}
	if listener.log == nil {
		listener.log = slog.New(slog.DiscardHandler)
	}
	transport := &http.Transport{
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		DialContext:         listener.dial,
		TLSHandshakeTimeout: dialTime,
	}
	if strings.EqualFold(base.Scheme, "https") {
		transport.DialContext = listener.dialer.DialContext // the certificate says who it is
	}
	if err := o.trust(transport); err != nil {
		return nil, err
	}
	retries := o.Retries
	switch {
	case retries == 0:
		retries = 4
	case retries < 0:
		retries = 0
	}
	c := &conn{base: strings.TrimRight(o.URL, "/"), http: retryablehttp.NewClient(), door: o.Door}
	c.http.HTTPClient = &http.Client{Transport: o.credentials(base, transport, func() bool { return !listener.elsewhere.Load() })}
	c.http.RetryMax = retries
	c.http.RetryWaitMin = 50 * time.Millisecond
	c.http.RetryWaitMax = 2 * time.Second
	c.http.CheckRetry = checkRetry
	c.http.Backoff = retryablehttp.RateLimitLinearJitterBackoff
	c.http.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.http.Logger = nil
	if o.Log != nil {
		c.http.Logger = debugLog{o.Log}
	}
	return newClient(c), nil
}

// Close closes idle network connections. The client can still be used.
func (c *Client) Close() { c.http.HTTPClient.CloseIdleConnections() }

// debugLog writes everything at level debug, since a failed try may be repeated.
type debugLog struct{ log *slog.Logger }

func (l debugLog) Error(msg string, keysAndValues ...any) { l.log.Debug(msg, keysAndValues...) }
func (l debugLog) Warn(msg string, keysAndValues ...any)  { l.log.Debug(msg, keysAndValues...) }
func (l debugLog) Info(msg string, keysAndValues ...any)  { l.log.Debug(msg, keysAndValues...) }
func (l debugLog) Debug(msg string, keysAndValues ...any) { l.log.Debug(msg, keysAndValues...) }

// trust sets the certificates that a transport accepts.
func (o Options) trust(transport *http.Transport) error {
	switch {
	case o.CAFingerprint != "":
		transport.TLSClientConfig = pinned(o.CAFingerprint)
	case o.CACert != "":
		pem, err := trustedfile.Read(o.CACert)
		if err != nil {
			return fmt.Errorf("client: read certificates: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("client: %s contains no PEM certificate", o.CACert)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	case o.Insecure:
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} // the user asked for it
	}
	return nil
}

// pinned returns a configuration that accepts only the certificate with the fingerprint,
// whoever signed it.
func pinned(fingerprint string) *tls.Config {
	want := strings.ToLower(strings.ReplaceAll(fingerprint, ":", ""))
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // the pin below is the verification
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 {
				return errors.New("server showed no certificate")
			}
			sum := sha256.Sum256(raw[0])
			if got := hex.EncodeToString(sum[:]); got != want {
				return fmt.Errorf("server's certificate has fingerprint %s, not the pinned %s", got, want)
			}
			return nil
		},
	}
}

// do makes one call: in is sent as JSON unless nil, the answer is decoded into
// out unless nil. A status of 400 or more is an *APIError.
func (c *conn) do(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%s %s: encode request: %w", method, path, err)
		}
	}
	var raw any
	if body != nil {
		raw = body
	}
	req, err := c.request(ctx, method, path, raw, "application/json")
	if err != nil {
		return err
	}
	return c.answer(req, out)
}

// request returns a request. The body is nil, bytes, or a func() (io.Reader, error) that
// is called for each try.
func (c *conn) request(ctx context.Context, method, path string, body any, media string) (*retryablehttp.Request, error) {
	if method != http.MethodPost {
		ctx = repeatable(ctx)
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("User-Agent", api.UserAgent)
	if door := audit.DoorOf(ctx); door != audit.Rule {
		req.Header.Set(api.DoorHeader, string(door))
	} else if c.door != "" {
		req.Header.Set(api.DoorHeader, string(c.door))
	}
	if body != nil {
		req.Header.Set("Content-Type", media)
	}
	return req, nil
}

// answer sends a request and decodes the response.
func (c *conn) answer(req *retryablehttp.Request, out any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return lost(req, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return lost(req, err)
	}
	if resp.StatusCode >= 400 {
		return apiError(resp.StatusCode, answer)
	}
	if out == nil || len(bytes.TrimSpace(answer)) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: decode answer: %w", callOf(req), err)
	}
	return nil
}

// callOf returns the method and path of a request.
func callOf(req *retryablehttp.Request) string { return req.Method + " " + req.URL.Path }

// lost returns the error of a call that got no complete answer.
func lost(req *retryablehttp.Request, err error) error {
	err = unreachable(callOf(req), err)
	var missing *unreachableError
	if errors.As(err, &missing) {
		missing.isUnsure = !isRepeatable(req.Context()) && hasArrived(err)
	}
	return err
}
