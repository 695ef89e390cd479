package main

import "context"

// dialStandalone connects to the daemon of a database of its own.
func (a *app) dialStandalone(context.Context, bool) (*connection, error) {
	return nil, notRunning("the standalone server")
}

// dialOwn connects to the user's own daemon.
func (a *app) dialOwn(context.Context, bool) (*connection, error) {
	return nil, notRunning("your daemon")
}
