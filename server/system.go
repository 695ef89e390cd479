package server

import (
	"crypto/rand"

	"github.com/torc-slurm/torc-slurm/api"
)

func (s *Server) systemRoutes() []route {
	return []route{
		handle("GET", "/ping", "Whether the daemon answers", s.ping, runnersAll),
		handle("GET", "/version", "The versions of the program and of the API", s.version, runnersAll),
	}
}

func (s *Server) ping(*request[none, none]) (api.Ping, error) {
	return api.Ping{Status: "ok"}, nil
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
