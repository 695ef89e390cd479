package server

import (
	"github.com/torc-slurm/torc-slurm/api"
)

func (s *Server) systemRoutes() []route {
	return []route{
		handle("GET", "/ping", "Whether the daemon answers", s.ping),
		handle("GET", "/version", "The versions of the program and of the API", s.version),
	}
}

func (s *Server) ping(*request[none, none]) (api.Ping, error) {
	return api.Ping{Status: "ok"}, nil
}

func (s *Server) version(*request[none, none]) (api.VersionInfo, error) {
	v := api.VersionInfo{Version: s.Version, APIVersion: api.Version, GitHash: s.GitHash}
	if s.GitHash != "" {
		v.Version += " (" + s.GitHash + ")"
	}
	return v, nil
}
