package cli

import (
	"slices"
	"strings"
)

// credentialVariables are the variables with credentials, which jobs do not inherit.
var credentialVariables = []string{"TORC_TOKEN_FILE", "TORC_PASSWORD", "TORC_COOKIE_HEADER"}

// JobEnvironment returns the environment that jobs inherit: that of this process without
// credentials, with the address of the server. Jobs need no credentials, since the server
// learns their user from the kernel.
func JobEnvironment(a *Factory, c *Connection) []string {
	var env []string
	for _, entry := range a.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(credentialVariables, name) {
			env = append(env, entry)
		}
	}
	if c.CACert != "" {
		env = append(env, "TORC_TLS_CA_CERT="+c.CACert)
	}
	return env
}
