// Package cli has what all commands share: the invocation with its streams, flags and
// configuration, the connection to the server, exit statuses, tables, prompts and completion.
// It knows no command.
package cli
