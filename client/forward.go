package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
)

// Forward sends another client's API request to the server with the credentials of this
// client, and returns the response with whatever status. The path begins with
// api.BasePath. The request is not repeated.
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
