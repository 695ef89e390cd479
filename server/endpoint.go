package server

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Endpoint is where a daemon can be reached, according to its endpoint file. Only its
// owner can read the file, since it contains the token.
type Endpoint struct {
	URL      string    `json:"url"`              // of the API, on TCP
	Socket   string    `json:"socket,omitempty"` // Unix socket on Host
	Token    string    `json:"token,omitempty"`
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	BootID   string    `json:"boot_id"`
	Database string    `json:"database"` // absolute
	Started  time.Time `json:"started"`
	Version  string    `json:"version"`
	Cluster  string    `json:"cluster,omitempty"` // its name in Slurm; empty if there is none or it is unknown

	// NodeURL is the API for runners on compute nodes, over TLS with the certificate of
	// Fingerprint; both are empty while no compute node needs the daemon.
	NodeURL     string `json:"node_url,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // SHA-256, hexadecimal
}

// EndpointPath returns the path of the endpoint file of the user's own daemon.
func EndpointPath(home string) string { return filepath.Join(home, "endpoint.json") }

// DatabaseEndpointPath returns the path of the endpoint file of the daemon of a database
// that is not in a home directory.
func DatabaseEndpointPath(database string) string { return database + ".endpoint.json" }

// TokenPath returns the path of the file that contains only the token of a daemon; jobs
// are given this path.
func TokenPath(endpointPath string) string {
	return strings.TrimSuffix(endpointPath, ".json") + ".token"
}

// ClusterPath returns the path of the file that contains only the name of the Slurm
// cluster whose allocations are in a daemon's database. It stays when the daemon ends.
func ClusterPath(endpointPath string) string {
	return strings.TrimSuffix(endpointPath, ".json") + ".cluster"
}

// OtherCluster returns an error if the daemon of an endpoint file, the running one or a
// previous one, serves another Slurm cluster than here. It returns nil if either name is
// empty, since that is then unknown.
func OtherCluster(endpointPath, here string) error {
	served := servedCluster(endpointPath)
	if served == "" || here == "" || strings.EqualFold(served, here) {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "your daemon with its files in %s serves the cluster %s, and this host belongs to the cluster %s",
		filepath.Dir(endpointPath), served, here).
		WithHint("work on a host of %s, or set TORC_HOME to another folder (for example %s) to have a daemon and a database for %s",
			served, filepath.Dir(endpointPath)+"-"+here, here)
}

// servedCluster returns the cluster that the daemon of an endpoint file serves, or of
// which a previous one had allocations.
func servedCluster(endpointPath string) string {
	if endpointPath == "" {
		return ""
	}
	if e, err := ReadEndpoint(endpointPath); err == nil && e.Cluster != "" {
		return e.Cluster
	}
	text, err := trustedfile.ReadPlain(ClusterPath(endpointPath))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// ReadEndpoint reads an endpoint file. It returns fs.ErrNotExist if there is none, and an
// error with CodeForbidden if another user could have written it.
func ReadEndpoint(path string) (Endpoint, error) {
	text, err := trustedfile.ReadPlain(path)
	if err != nil {
		return Endpoint{}, fmt.Errorf("read endpoint file: %w", err)
	}
	return ParseEndpoint(path, text)
}

// ParseEndpoint parses the text of an endpoint file, whoever could have written it. The
// path is for the error, which has CodeCorrupt.
func ParseEndpoint(path string, text []byte) (Endpoint, error) {
	var e Endpoint
	if err := json.Unmarshal(text, &e); err != nil {
		return Endpoint{}, workflow.Errorf(workflow.CodeCorrupt, "endpoint file %s: %v", path, err).
			WithHint("delete it; a running daemon writes it again when it is restarted")
	}
	return e, nil
}

// writeEndpoint writes the endpoint file and the token file. With an empty path nothing
// is written, and the functions below read and remove nothing.
func writeEndpoint(path string, e Endpoint) error {
	if path == "" {
		return nil
	}
	if err := trustedfile.CheckFolder(filepath.Dir(path)); err != nil {
		return err // readers would not trust a file there
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	if err := trustedfile.Write(TokenPath(path), []byte(e.Token), 0o600); err != nil {
		return err
	}
	return trustedfile.Write(path, append(text, '\n'), 0o600)
}

// removeEndpoint removes the endpoint file, if it is still that of the endpoint. The
// token stays: runners and commands on other hosts know it.
func removeEndpoint(path string, e Endpoint) error {
	if path == "" {
		return nil
	}
	now, err := ReadEndpoint(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (now.PID != e.PID || now.BootID != e.BootID || !now.Started.Equal(e.Started)) {
		return nil
	}
	return os.Remove(path)
}

// formerToken returns the token of the previous daemon. It is empty if there was none, if
// others could have read it, or if that daemon did not end in an orderly way, as its
// endpoint file shows: another user may have listened on its port since then, and got the
// token from a program that relied on it.
func formerToken(endpointPath string) string {
	if endpointPath == "" {
		return ""
	}
	if _, err := os.Lstat(endpointPath); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	path := TokenPath(endpointPath)
	text, err := trustedfile.ReadSecret(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// formerPort returns the port of a daemon that died and left its endpoint file, 0 if
// there is none. Jobs that are still running know it.
func formerPort(endpointPath string) int {
	e, err := ReadEndpoint(endpointPath)
	if err != nil {
		return 0
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0
	}
	return port
}

// NewToken returns a new secret for a daemon.
func NewToken() string {
	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // never fails
	return hex.EncodeToString(secret)
}

// BootID identifies the current boot of this host; empty if the kernel does not report
// it.
func BootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
