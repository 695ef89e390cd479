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

// Endpoint is where a daemon can be reached, as its endpoint file says. The
// file is readable for its owner only, since it has the token.
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
	Cluster  string    `json:"cluster,omitempty"` // Slurm's name of it; empty if there is none, or it is not known

	// NodeURL is the API for runners on compute nodes, by TLS with the certificate of
	// Fingerprint; both are empty while no compute node needs the daemon.
	NodeURL     string `json:"node_url,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // SHA-256, hexadecimal
}

// EndpointPath is where the user's own daemon keeps its endpoint file.
func EndpointPath(home string) string { return filepath.Join(home, "endpoint.json") }

// DatabaseEndpointPath is where the daemon of a database that is not in a home
// keeps its endpoint file.
func DatabaseEndpointPath(database string) string { return database + ".endpoint.json" }

// TokenPath is the file that holds nothing but the token of a daemon; jobs are
// told its path.
func TokenPath(endpointPath string) string {
	return strings.TrimSuffix(endpointPath, ".json") + ".token"
}

// ClusterPath is the file that holds nothing but the name of the Slurm cluster
// whose allocations are in a daemon's database. It stays when the daemon ends.
func ClusterPath(endpointPath string) string {
	return strings.TrimSuffix(endpointPath, ".json") + ".cluster"
}

// OtherCluster returns an error if the daemon of an endpoint file, the running one or
// a former one, serves another Slurm cluster than the one named here. It returns nil
// if either name is empty, as that is then not known.
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

// servedCluster is the cluster that the daemon of an endpoint file serves, or
// that a former one had allocations of.
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

// ReadEndpoint reads an endpoint file; fs.ErrNotExist if there is none, an error of the
// code forbidden if another user could have written it.
func ReadEndpoint(path string) (Endpoint, error) {
	text, err := trustedfile.ReadPlain(path)
	if err != nil {
		return Endpoint{}, fmt.Errorf("read endpoint file: %w", err)
	}
	return ParseEndpoint(path, text)
}

// ParseEndpoint reads the text of an endpoint file, whoever could have written
// it. The path is for the error, which has the code corrupt.
func ParseEndpoint(path string, text []byte) (Endpoint, error) {
	var e Endpoint
	if err := json.Unmarshal(text, &e); err != nil {
		return Endpoint{}, workflow.Errorf(workflow.CodeCorrupt, "endpoint file %s: %v", path, err).
			WithHint("delete it; a daemon that runs writes it anew when it is restarted")
	}
	return e, nil
}

// writeEndpoint writes the endpoint file and the token file. Without a path
// nothing is written, and nothing is read or removed by the functions below.
func writeEndpoint(path string, e Endpoint) error {
	if path == "" {
		return nil
	}
	if err := trustedfile.CheckFolder(filepath.Dir(path)); err != nil {
		return err // readers would not trust what we write there
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

// removeEndpoint removes the endpoint file, if it is still the endpoint's own.
// The token stays: runners and commands on other hosts know it.
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

// formerToken returns the token of the daemon that was here before, empty if
// there was none, if others could have read it, or if that daemon did not end in an
// orderly way, as its endpoint file shows: another user may have listened on its
// port since, and got the token from a program that relied on it.
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

// formerPort returns the port of a daemon that died and left its endpoint file,
// 0 if there is none. Jobs that are still running know it.
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

// NewToken makes a secret for a daemon.
func NewToken() string {
	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // never fails
	return hex.EncodeToString(secret)
}

// BootID identifies the current boot of this host; empty where the kernel does
// not say.
func BootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
