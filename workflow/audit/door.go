// Package audit has who changed what of workflows, and by which door the change came in.
package audit

import (
	"context"
	"slices"
)

// Door is how a change came in.
type Door string

// The doors. Clients name theirs; nothing depends on it but what people read.
const (
	CLI   Door = "cli"   // the command line
	API   Door = "api"   // a client of the HTTP API that names no door
	MCP   Door = "mcp"   // an AI agent that a user works with
	Agent Door = "agent" // an AI agent that the daemon or a command started
	Job   Door = "job"   // a running job
	Rule  Door = "rule"  // nobody: a rule, a deadline or the daemon
)

// Doors returns all doors.
func Doors() []Door { return []Door{CLI, API, MCP, Agent, Job, Rule} }

// Named returns the door that a client names; API if it names none that clients can use.
func Named(name string) Door {
	if d := Door(name); slices.Contains([]Door{CLI, MCP, Agent}, d) {
		return d
	}
	return API
}

type doorKey struct{}

// WithDoor returns a context for what comes in by a door.
func WithDoor(ctx context.Context, d Door) context.Context {
	return context.WithValue(ctx, doorKey{}, d)
}

type userKey struct{}

// WithUser returns a context for what a user asks for.
func WithUser(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// UserOf returns the user of a context; "" if it has none.
func UserOf(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// DoorOf returns the door of a context; Rule if it has none, because nobody has asked.
func DoorOf(ctx context.Context) Door {
	if d, ok := ctx.Value(doorKey{}).(Door); ok {
		return d
	}
	return Rule
}
