package handler

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// system handles requests about the daemon itself.
type system struct{ *Deps }

func (h system) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/ping", "Check that the daemon answers", h.ping, rest.RunnersAll),
		rest.Handle("GET", "/version", "Get the versions of the program and of the API", h.version, rest.RunnersAll),
		rest.Handle("POST", "/admin/reload-auth", "Reload the authentication file of a shared server; on an error the users are unchanged", h.reloadAuth, rest.Conflict409),
	}
}

func (h system) ping(*rest.Request[rest.None, rest.None]) (api.Ping, error) {
	return api.Ping{Status: "ok"}, nil
}

func (h system) reloadAuth(r *rest.Request[rest.None, rest.None]) (api.ReloadedAuth, error) {
	if h.ReloadPasswords == nil {
		return api.ReloadedAuth{}, &rest.HTTPError{Status: http.StatusConflict, Detail: api.ErrorDetail{
			Error: api.KindNoAuthFile, Message: "this server has no authentication file", Hint: "start it with serve --auth-file FILE",
		}}
	}
	users, err := h.ReloadPasswords()
	if err != nil {
		h.Log.Warn("the authentication file cannot be read again: the users are unchanged", "user", r.User(), "error", err)
		detail := rest.AsHTTP(err, http.StatusConflict).Detail
		detail.Error, detail.Message = api.KindReloadFailed, cmp.Or(detail.Message, err.Error())+"; the users are unchanged"
		return api.ReloadedAuth{}, &rest.HTTPError{Status: http.StatusUnprocessableEntity, Detail: detail}
	}
	h.Log.Info("the authentication file was read again", "users", users, "user", r.User())
	return api.ReloadedAuth{Message: fmt.Sprintf("the authentication file has %s", workflow.CountOf(int64(users), "user", "users")), UserCount: int64(users)}, nil
}

func (h system) version(r *rest.Request[rest.None, rest.None]) (api.VersionInfo, error) {
	database, err := h.Store.Identity(r.Context(), rand.Text())
	if err != nil {
		return api.VersionInfo{}, err
	}
	v := api.VersionInfo{Version: h.Version, APIVersion: api.Version, GitHash: h.GitHash, Database: database}
	if h.GitHash != "" {
		v.Version += " (" + h.GitHash + ")"
	}
	return v, nil
}
