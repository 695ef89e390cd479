package server

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) systemRoutes() []route {
	return []route{
		handle("GET", "/ping", "Whether the daemon answers", s.ping, runnersAll),
		handle("GET", "/version", "The versions of the program and of the API", s.version, runnersAll),
		handle("POST", "/admin/reload-auth", "Read the authentication file of a shared server again; with an error the former users stay", s.reloadAuth, conflict409),
	}
}

func (s *Server) ping(*request[none, none]) (api.Ping, error) {
	return api.Ping{Status: "ok"}, nil
}

func (s *Server) reloadAuth(r *request[none, none]) (api.ReloadedAuth, error) {
	if s.reloadPasswords == nil {
		return api.ReloadedAuth{}, &httpError{status: http.StatusConflict, detail: api.ErrorDetail{
			Error: api.KindNoAuthFile, Message: "this server has no authentication file", Hint: "start it with serve --auth-file FILE",
		}}
	}
	users, err := s.reloadPasswords()
	if err != nil {
		s.Log.Warn("the authentication file cannot be read again: the former users stay", "user", r.user(), "error", err)
		detail := asHTTP(err, http.StatusConflict).detail
		detail.Error, detail.Message = api.KindReloadFailed, cmp.Or(detail.Message, err.Error())+"; the former users stay"
		return api.ReloadedAuth{}, &httpError{status: http.StatusUnprocessableEntity, detail: detail}
	}
	s.Log.Info("the authentication file was read again", "users", users, "user", r.user())
	return api.ReloadedAuth{Message: fmt.Sprintf("the authentication file has %s", workflow.CountOf(int64(users), "user", "users")), UserCount: int64(users)}, nil
}

func (s *Server) version(r *request[none, none]) (api.VersionInfo, error) {
	database, err := s.Store.Identity(r.Context(), rand.Text())
	if err != nil {
		return api.VersionInfo{}, err
	}
	v := api.VersionInfo{Version: s.Version, APIVersion: api.Version, GitHash: s.GitHash, Database: database}
	if s.GitHash != "" {
		v.Version += " (" + s.GitHash + ")"
	}
	return v, nil
}
