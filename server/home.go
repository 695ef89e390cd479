package server

import (
	"fmt"
	"html"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// pages are the routes that are not operations of the API.
func (s *Server) pages() []rest.Route {
	home := http.HandlerFunc(s.serveHome)
	return []rest.Route{
		rest.Page("/openapi.yaml", http.HandlerFunc(serveOpenAPI), rest.RunnersAll),
		rest.Page("/{$}", home, rest.OutsideAPI, rest.RunnersAll),
		rest.Page("/dashboard", home, rest.OutsideAPI, rest.RunnersAll),
		rest.Page("/metrics", s.Metrics.Handler(), rest.OutsideAPI),
	}
}

// serveHome answers people who open the daemon's address in a browser.
func (s *Server) serveHome(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>torc-slurm</title></head>
<body><h1>torc-slurm %s</h1>
<p>This is the daemon. Its API is under <code>%s</code>:
<a href="%[2]s/openapi.yaml">openapi.yaml</a>, <a href="%[2]s/ping">ping</a>, <a href="/metrics">metrics</a>.</p>
</body></html>
`, html.EscapeString(s.Version), api.BasePath)
}
