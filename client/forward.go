package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
)

// Forward sends somebody else's request for the API to the server, with the
// credentials of this client in place of its own, and returns the answer whatever
// its status is. The path begins with api.BasePath. Nothing is repeated.
func (c *Client) Forward(req *http.Request) (*http.Response, error) {
	base, err := url.Parse(c.base)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	out := req.Clone(req.Context())
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host, out.Host = base.Scheme, base.Host, ""
	out.URL.Path = base.Path + strings.TrimPrefix(req.URL.Path, api.BasePath)
	if out.URL.RawPath != "" {
		out.URL.RawPath = base.EscapedPath() + strings.TrimPrefix(req.URL.RawPath, api.BasePath)
	}
	out.Header.Del("Authorization")
	out.Header.Del("Cookie")
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", api.UserAgent)
	}
	resp, err := c.http.HTTPClient.Transport.RoundTrip(out)
	if err != nil {
		return nil, unreachable(req.Method+" "+req.URL.Path, err)
	}
	return resp, nil
}
