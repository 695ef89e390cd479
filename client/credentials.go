package client

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
)

// credentials adds credentials to requests. Over TLS they are the only proof of the caller.
// Without TLS the kernel names the users of both ends, and the token is sent only to a daemon
// that requests it because it runs in a sandbox where the kernel does not.
type credentials struct {
	next  http.RoundTripper
	base  *url.URL // requests that were redirected to another host carry no credentials
	plain bool     // without TLS
	basic string   // given by the user, with the scheme
	// cookie is given by the user.
	cookie string
	// mayTell reports whether the token may be sent over the latest connection.
	mayTell func() bool
	file    string // holds the token; it may change

	mu    sync.Mutex
	token string
	asked bool // the server has requested it
}

// credentials returns a RoundTripper that adds the credentials of the options.
func (o Options) credentials(base *url.URL, next http.RoundTripper, mayTell func() bool) *credentials {
	c := &credentials{next: next, base: base, plain: !strings.EqualFold(base.Scheme, "https"), cookie: o.Cookie, mayTell: mayTell, token: o.Token, file: o.TokenFile}
	if o.Password != "" && o.Token == "" {
		c.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Password))
	}
	return c
}

// given reports whether the user gave a password or a cookie.
func (o Options) given() bool { return o.Password != "" && o.Token == "" || o.Cookie != "" }

// RoundTrip makes a request. If the server rejects the credentials, it repeats the request
// with new ones, if there are any.
func (c *credentials) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != c.base.Scheme || req.URL.Host != c.base.Host {
		return c.next.RoundTrip(req)
	}
	authorization := c.authorization()
	resp, err := c.next.RoundTrip(c.with(req, authorization))
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !c.renew(authorization) {
		return resp, err
	}
	again := c.with(req, c.authorization())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return resp, nil
		}
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // the answer says more
		}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10)) // so that the connection can be reused
	_ = resp.Body.Close()
	return c.next.RoundTrip(again)
}

// CloseIdleConnections is for http.Client.
func (c *credentials) CloseIdleConnections() {
	if t, ok := c.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// with returns a copy of a request that carries the credentials.
func (c *credentials) with(req *http.Request, authorization string) *http.Request {
	if authorization == "" && c.cookie == "" {
		return req
	}
	req = req.Clone(req.Context())
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	if c.cookie != "" {
		req.Header.Set("Cookie", c.cookie)
	}
	return req
}

// authorization returns the Authorization header of requests; empty for none.
func (c *credentials) authorization() string {
	if c.basic != "" {
		return c.basic
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == "" || c.plain && !c.asked {
		return ""
	}
	return "Bearer " + c.token
}

// renew changes the credentials after a server has rejected them. It reports whether they
// have changed.
func (c *credentials) renew(rejected string) bool {
	if c.basic != "" || c.plain && !c.mayTell() {
		return false
	}
	c.mu.Lock()
	c.asked = true
	if text, err := os.ReadFile(c.file); c.file != "" && err == nil {
		c.token = strings.TrimSpace(string(text)) // of a restarted daemon
	}
	c.mu.Unlock()
	return c.authorization() != rejected
}
