package cli

import (
	"slices"
	"strings"
)

// credentialVariables are what a command of the user may have in its environment,
// and jobs never get.
var credentialVariables = []string{"TORC_TOKEN_FILE", "TORC_PASSWORD", "TORC_COOKIE_HEADER"}

// JobEnvironment is what jobs inherit: the environment of this process without
// credentials, with what they need to reach the server. The kernel tells it that
// they are the user's.
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
