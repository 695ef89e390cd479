// Package agent runs AI agents: programs that read a task on standard input and use the tools
// of our MCP server. A run is limited in time and output, and nothing of it is left
// afterwards.
package agent

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Agent is how an agent is started. In Command, Environ and File, {brief} stands for the task,
// {file} for the path of File, {server} for the program of our MCP server, {server_json} for
// the same as a JSON string, and {server_args} for its arguments as a JSON array.
type Agent struct {
	Command []string
	Environ []string // NAME=value, in addition to the daemon's environment
	// File is the content of a file with the settings of the agent; empty for none.
	File string
}

// ServersFile is the file of MCP servers that most agents read.
const ServersFile = `{"mcpServers":{"torc":{"type":"stdio","command":{server_json},"args":{server_args}}}}`

// builtin are the agents that need no configuration. Each gets the tools of our server and, as
// far as its options permit, no others.
var builtin = map[string]Agent{
	"claude": {
		Command: []string{"claude", "--print", "--tools", "", "--strict-mcp-config", "--mcp-config", "{file}", "--allowedTools", "mcp__torc"},
		File:    ServersFile,
	},
	"codex": {
		Command: []string{
			"codex", "exec", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config", "--ignore-rules",
			"-c", "features.shell_tool=false", "-c", "mcp_servers.torc.command={server_json}", "-c", "mcp_servers.torc.args={server_args}",
			"-c", `mcp_servers.torc.default_tools_approval_mode="approve"`, "-",
		},
	},
	"copilot": {
		Command: []string{
			"copilot", "-p", "{brief}", "--silent", "--no-ask-user", "--no-custom-instructions", "--disable-builtin-mcps", "--additional-mcp-config", "@{file}",
			"--allow-tool=torc", "--deny-tool=shell", "--deny-tool=write",
		},
		File: `{"mcpServers":{"torc":{"type":"local","command":{server_json},"args":{server_args},"tools":["*"]}}}`,
	},
	"gemini": {
		Command: []string{"gemini", "--allowed-mcp-server-names", "torc"},
		Environ: []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH={file}"},
		File: `{"mcpServers":{"torc":{"command":{server_json},"args":{server_args},"trust":true}},"mcp":{"allowed":["torc"]},` +
			`"tools":{"core":[]},"security":{"folderTrust":{"enabled":false}}}`,
	},
}

// Builtin returns the names of the agents that need no configuration.
func Builtin() []string { return []string{"claude", "codex", "copilot", "gemini"} }

// Agents are the agents of the configuration, by name.
type Agents map[string]Agent

// Find returns the agent with a name: one of the configuration, a built-in one, or a program by
// its absolute path. The program is started without arguments; the environment variable
// TORC_MCP_CONFIG has the path of a file with our MCP server. If paths is false, such a program
// is CodeForbidden. An unknown name is CodeNotFound.
func (a Agents) Find(name string, paths bool) (Agent, error) {
	if found, ok := a[name]; ok {
		return found, nil
	}
	if found, ok := builtin[name]; ok {
		return found, nil
	}
	if !filepath.IsAbs(name) {
		known := Builtin()
		for n := range a {
			known = append(known, n)
		}
		slices.Sort(known)
		return Agent{}, workflow.Errorf(workflow.CodeNotFound, "unknown agent %q", name).
			WithHint("use %s, or describe it in the section [agents.%s] of the configuration", strings.Join(slices.Compact(known), ", "), name)
	}
	if !paths {
		return Agent{}, workflow.Errorf(workflow.CodeForbidden, "this daemon is shared with other users and starts no programs that workflows name: %s", name).
			WithHint("name the program in the daemon's configuration")
	}
	return Agent{Command: []string{name}, File: ServersFile}, nil
}

// Check returns an error for an agent of the configuration that cannot be started.
func (a Agents) Check() error {
	for name, x := range a {
		switch {
		case len(x.Command) == 0 || x.Command[0] == "":
			return fmt.Errorf("agents.%s: command is empty", name)
		case slices.ContainsFunc(x.Environ, func(e string) bool { return !strings.Contains(e, "=") }):
			return fmt.Errorf("agents.%s: environ has entries that are not NAME=value", name)
		}
	}
	return nil
}

// Server is the command of the MCP server that an agent uses.
type Server struct {
	Program string
	Args    []string
}

// fill returns the command, the environment and the file of an agent for a task.
func (a *Agent) fill(s *Server, brief, file string) (command, environ []string, content string, err error) {
	program, err := json.Marshal(s.Program)
	if err != nil {
		return nil, nil, "", fmt.Errorf("describe the MCP server: %w", err)
	}
	args, err := json.Marshal(s.Args)
	if err != nil {
		return nil, nil, "", fmt.Errorf("describe the MCP server: %w", err)
	}
	words := strings.NewReplacer("{brief}", brief, "{file}", file, "{server}", s.Program, "{server_json}", string(program), "{server_args}", string(args))
	for _, w := range a.Command {
		command = append(command, words.Replace(w))
	}
	for _, w := range a.Environ {
		environ = append(environ, words.Replace(w))
	}
	return command, environ, words.Replace(a.File), nil
}
