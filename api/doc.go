// Package api has the wire types of the HTTP API as plain structs. Paths, names and shapes
// are those of torc's HTTP API 0.23.0, with additions.
package api

// BasePath is the beginning of every path of the API.
const BasePath = "/torc-service/v1"

// UserAgent identifies our own client, which shows the texts of errors and decides nothing
// by them.
const UserAgent = "torc-slurm"

// DoorHeader is the header in which clients say how a change came in, as people read it in
// the audit: cli, mcp or agent.
const DoorHeader = "Torc-Door"

// Version is the version of the HTTP API that clients negotiate with.
const Version = "0.23.0"
