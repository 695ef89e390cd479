package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentMain is a program for scripts: agent SERVER [ARG...] -- [TOOL [JSON]]... starts a
// server of the Model Context Protocol, calls its tools one after another, and prints what
// each returned. Without tools it prints their names. The exit status is 1 if the last call
// was a tool error.
func agentMain() {
	failed, err := agent(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

func agent(args []string) (failed bool, err error) {
	at := slices.Index(args, "--")
	if at < 1 {
		return false, errors.New("usage: agent SERVER [ARG...] -- [TOOL [JSON]]... as arguments")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := exec.Command(args[0], args[1:at]...)
	server.Stderr = os.Stderr
	session, err := sdk.NewClient(&sdk.Implementation{Name: "script", Version: "1"}, nil).
		Connect(ctx, &sdk.CommandTransport{Command: server, TerminateDuration: 10 * time.Second}, nil)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if args = args[at+1:]; len(args) == 0 {
		for tool, err := range session.Tools(ctx, nil) {
			if err != nil {
				return false, err
			}
			say(tool.Name)
		}
		return false, nil
	}
	for len(args) > 0 {
		call := &sdk.CallToolParams{Name: args[0]}
		if args = args[1:]; len(args) > 0 {
			call.Arguments, args = json.RawMessage(args[0]), args[1:]
		}
		res, err := session.CallTool(ctx, call)
		if err != nil {
			return false, err
		}
		for _, c := range res.Content {
			if text, ok := c.(*sdk.TextContent); ok {
				say(text.Text)
			}
		}
		failed = res.IsError
	}
	return failed, nil
}

// say prints a line for the test that started the program.
func say(text string) {
	fmt.Println(text) //nolint:forbidigo // see above
}
