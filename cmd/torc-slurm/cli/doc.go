// Package cli is what all commands share: the invocation with its streams, flags
// and configuration, the way to the server, exit statuses, tables, prompts and
// completion. It knows no command.
package cli
