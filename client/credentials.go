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

// credentials adds to requests what proves who calls. Over TLS that is all there
// is. Otherwise the kernel tells both sides who is at the other end, and the token
// of a daemon goes only to one that asks for it: in a sandbox nobody tells it who
// calls.
type credentials struct {
	next  http.RoundTripper
	base  *url.URL // requests that were redirected elsewhere carry nothing
	plain bool     // without TLS
	basic string   // what a user gave by himself, with the scheme
	// cookie is what a user gave by himself.
	cookie string
	// mayTell reports whether the token may go over the latest connection.
	mayTell func() bool
	file    string // holds the token; it may change

	mu    sync.Mutex
	token string
	asked bool // the server has asked for it
}

// credentials returns what adds the credentials of the options.
func (o Options) credentials(base *url.URL, next http.RoundTripper, mayTell func() bool) *credentials {
	c := &credentials{next: next, base: base, plain: !strings.EqualFold(base.Scheme, "https"), cookie: o.Cookie, mayTell: mayTell, token: o.Token, file: o.TokenFile}
	if o.Password != "" && o.Token == "" {
		c.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Password))
	}
	return c
}

// given reports whether there is anything that a user gave by himself.
func (o Options) given() bool { return o.Password != "" && o.Token == "" || o.Cookie != "" }

// RoundTrip makes a request. One that is rejected for its credentials has not been
// carried out; it is repeated with others, if there are any.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10)) // for the next request on the connection
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

// authorization is what requests carry now.
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

// renew changes the credentials after a server has rejected them. It reports
// whether they are others now.
func (c *credentials) renew(rejected string) bool {
	if c.basic != "" || c.plain && !c.mayTell() {
		return false
	}
	c.mu.Lock()
	c.asked = true
	if text, err := os.ReadFile(c.file); c.file != "" && err == nil {
		c.token = strings.TrimSpace(string(text)) // of the next daemon
	}
	c.mu.Unlock()
	return c.authorization() != rejected
}
