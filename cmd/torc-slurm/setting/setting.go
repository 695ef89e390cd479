// Package setting says which keys of the configuration a torc.toml in a folder may set. Such a
// file may come from somebody else, together with the other files in the folder. So it must
// decide neither which server receives commands nor what is run, unless the user trusts the
// folder.
package setting

import (
	"path/filepath"
	"strings"
)

// Class says who may set a key.
type Class int

// The classes.
const (
	Unknown Class = iota
	Free          // any file: display and limits
	Inside        // any file, if the value is a path within its folder
	Owner         // the user, and files in folders that the user trusts
)

// rule is the class of a key. For a key of class Owner or Inside, Decides says what the key
// decides.
type rule struct {
	Class
	Decides string
}

func owner(decides string) rule { return rule{Owner, decides} }

var (
	free   = rule{Class: Free}
	inside = rule{Inside, "where files are written"}

	address     = owner("which server receives your commands")
	certificate = owner("which server is trusted")
	exposure    = owner("who can reach your server")
	database    = owner("which database your server works on")
	message     = owner("who receives notifications")
	account     = owner("who is charged")
	site        = owner("what is requested from a cluster")
	agents      = owner("what AI agents may do and read")
)

// rules has the rule of every key. A key that ends in .* stands for all keys below it.
var rules = map[string]rule{
	"trusted_folders": owner("which folders are trusted"),
	"dash.*":          free, // no effect here

	"client.api_url":                    address,
	"client.format":                     free,
	"client.log_level":                  free,
	"client.run.poll_interval":          free,
	"client.run.claim_backoff_max_secs": free,
	"client.run.max_parallel_jobs":      free,
	"client.run.output_dir":             inside,
	"client.run.num_cpus":               free,
	"client.run.memory_gb":              free,
	"client.run.num_gpus":               free,
	"client.run.resume":                 free,
	"client.tls.ca_cert":                certificate,
	"client.tls.insecure":               certificate,
	"client.hpc.default_account":        account,
	"client.hpc.profile_overrides.*":    account,
	"client.hpc.custom_profiles.*":      site,
	"client.offline.*":                  free, // no effect here
	"client.slurm.*":                    free, // no effect here
	"client.watch.*":                    free, // no effect here

	"agents.*":   owner("which programs decide about held jobs"),
	"mcp.mode":   agents,
	"mcp.redact": agents,

	"server.log_level":                      free,
	"server.host":                           exposure,
	"server.url":                            exposure,
	"server.port":                           free,
	"server.threads":                        free,
	"server.database":                       database,
	"server.completion_check_interval_secs": free,
	"server.idle_timeout_secs":              free,
	"server.lease_secs":                     free,
	"server.node_host":                      exposure,
	"server.slurm.*":                        free, // intervals and limits
	"server.notify.on":                      message,
	"server.notify.mail":                    message,
	"server.notify.webhook":                 message,
	"server.notify.mail_command":            owner("which program is run to send mail"),
	"server.notify.interval_secs":           free,
	"server.logging.log_dir":                inside,
	"server.logging.json_logs":              free,
	"server.https":                          exposure,
	"server.tls_cert":                       certificate,
	"server.tls_key":                        certificate,
	"server.allowed_hosts":                  exposure,
	"server.auth_file":                      exposure,
	"server.require_auth":                   exposure,
	"server.credential_cache_ttl_secs":      exposure,
	"server.enforce_access_control":         exposure,
	"server.admin_users":                    exposure,
	"server.disable_admin_sql":              exposure,
	"server.disable_admin_sql_writes":       exposure,
}

// ruleOf returns the rule of a key, a path such as client.run.output_dir; the zero rule if
// there is no such key.
func ruleOf(key string) rule {
	if r, ok := rules[key]; ok {
		return r
	}
	for at := key; at != ""; at = at[:max(0, strings.LastIndexByte(at, '.'))] {
		if r, ok := rules[at+".*"]; ok {
			return r
		}
	}
	return rule{}
}

// ClassOf returns the class of a key, Unknown if there is no such key.
func ClassOf(key string) Class { return ruleOf(key).Class }

// Allows reports whether a file in an untrusted folder may set a key to a value, and if not,
// what the key decides. An unknown key is allowed, because it has no effect.
func Allows(key string, value any) (ok bool, decides string) {
	switch r := ruleOf(key); r.Class {
	case Owner:
		return false, r.Decides
	case Inside:
		path, isText := value.(string)
		return isText && filepath.IsLocal(path), r.Decides
	default:
		return true, ""
	}
}

// AllowsVariable is like Allows for an environment variable in a .env file, which torc-server
// reads. Most variables are not allowed, because they affect this program or the programs that
// it starts.
func AllowsVariable(name, value string) (ok bool, decides string) {
	if name == "RUST_LOG" {
		return true, ""
	}
	if path, ours := strings.CutPrefix(name, "TORC_"); ours && strings.Contains(path, "__") {
		key := strings.ReplaceAll(strings.ToLower(path), "__", ".")
		if ClassOf(key) != Unknown {
			return Allows(key, value)
		}
	}
	return false, "what your server does"
}
