package mcp

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// graceTime is how long the calls of an agent that has gone away may go on: what a script
// has piped in is answered, and nothing runs for nobody.
const graceTime = 5 * time.Second

// watched is a transport that says when the agent at the other end has gone away.
type watched struct {
	sdk.Transport
	gone func()
}

// Connect returns a connection that calls gone.
func (w watched) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := w.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &watchedConnection{c, w.gone}, nil
}

type watchedConnection struct {
	sdk.Connection
	gone func()
}

// Read reads a message. There are none after the first error.
func (c *watchedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.gone()
	}
	return m, err
}
