// Package client speaks the HTTP API. Command line, runner and the other
// surfaces use it; it knows the wire types of package api and nothing else.
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
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/torc-slurm/torc-slurm/api"
)

// Options say where the daemon is and who is calling.
type Options struct {
	// URL is the base of the API, for example
	// http://localhost:8080/torc-service/v1.
	URL string
	// Token is sent as a bearer token; empty for none.
	Token string
	// UnixSocket, if not empty, is connected to instead of the URL's host.
	UnixSocket string
	// CAFingerprint, if not empty, is the SHA-256 of the only certificate that
	// is accepted, in hexadecimal.
	CAFingerprint string
	// Retries is how often a failed request is repeated; 4 if zero, never if
	// negative. All calls that change something may be repeated.
	Retries int
	// Log, if not nil, receives a line per retry at level debug.
	Log *slog.Logger
}

// Client is a connection to a daemon. It is safe for concurrent use.
type Client struct {
	base  string
	token string
	http  *retryablehttp.Client
}

// New makes a client; it connects with the first call.
func New(o Options) (*Client, error) {
	if o.URL == "" {
		return nil, errors.New("client: no URL")
	}
	transport := &http.Transport{
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	if o.UnixSocket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "unix", o.UnixSocket)
		}
	}
	if o.CAFingerprint != "" {
		transport.TLSClientConfig = pinned(o.CAFingerprint)
	}
	retries := o.Retries
	switch {
	case retries == 0:
		retries = 4
	case retries < 0:
		retries = 0
	}
	c := &Client{base: strings.TrimRight(o.URL, "/"), token: o.Token, http: retryablehttp.NewClient()}
	c.http.HTTPClient = &http.Client{Transport: transport}
	c.http.RetryMax = retries
	c.http.RetryWaitMin = 50 * time.Millisecond
	c.http.RetryWaitMax = 2 * time.Second
	c.http.Backoff = retryablehttp.RateLimitLinearJitterBackoff
	c.http.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.http.Logger = nil
	if o.Log != nil {
		c.http.Logger = o.Log
	}
	return c, nil
}

// pinned accepts exactly the certificate with the fingerprint, whoever signed it.
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

// APIError is a refusal by the daemon.
type APIError struct {
	Status  int // HTTP status
	Message string
	Detail  api.ErrorDetail
}

// Error returns the daemon's message with the HTTP status.
func (e *APIError) Error() string {
	return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
}

// do makes one call: in is sent as JSON unless nil, the answer is decoded into
// out unless nil. A status of 400 or more is an *APIError.
func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
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
	req, err := retryablehttp.NewRequestWithContext(ctx, method, c.base+path, raw)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: read answer: %w", method, path, err)
	}
	if resp.StatusCode >= 400 {
		return apiError(resp.StatusCode, answer)
	}
	if out == nil || len(bytes.TrimSpace(answer)) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: decode answer: %w", method, path, err)
	}
	return nil
}

// apiError reads a refusal: a JSON error body, or plain text.
func apiError(status int, body []byte) *APIError {
	e := &APIError{Status: status}
	var wire api.ErrorResponse
	if json.Unmarshal(body, &wire) == nil && wire.Error.Message != "" {
		e.Detail = wire.Error
		e.Message = wire.Error.Message
		return e
	}
	if e.Message = strings.TrimSpace(string(body)); e.Message == "" {
		e.Message = http.StatusText(status)
	}
	return e
}
