// Package api holds the wire types of the HTTP API as plain structs. The paths,
// names and shapes of torc's API (HTTP API 0.23.0) are kept; what is ours is
// additive.
package api

// BasePath is what every path of the API begins with.
const BasePath = "/torc-service/v1"

// UserAgent is what our own client says that it is: it shows the texts of errors
// and decides nothing by them.
const UserAgent = "torc-slurm"

// Version is the version of the HTTP API that clients negotiate with.
const Version = "0.23.0"
