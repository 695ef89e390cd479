package slurm

import (
	"os"
	"strings"
)

// confFiles are the usual places of slurm.conf; the last is where hosts keep the copy
// that they get from the controller.
var confFiles = []string{"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf"}

// ClusterName returns the name of the cluster in this host's slurm.conf; empty if there
// is none. No program of Slurm is called.
func ClusterName(getenv func(string) string) string {
	if file := getenv("SLURM_CONF"); file != "" {
		return clusterOf(file)
	}
	if len(FakePaths(getenv)) > 0 {
		return "" // the host's files describe another Slurm
	}
	for _, file := range confFiles {
		if name := clusterOf(file); name != "" {
			return name
		}
	}
	return ""
}

// clusterOf returns the ClusterName of a slurm.conf, whose keys are case-insensitive.
func clusterOf(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		key, value, _ := strings.Cut(line, "=")
		if strings.EqualFold(strings.TrimSpace(key), "ClusterName") {
			return strings.ToLower(strings.TrimSpace(value))
		}
	}
	return ""
}
