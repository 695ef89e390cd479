package server

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestSomeNodes(t *testing.T) {
	got := someNodes([]slurm.NodeGroup{{Nodes: "cloud[1-100]"}, {Nodes: "n[1-2]"}, {Nodes: "cloud[1-100]"}})
	up := []slurm.NodeGroup{{Nodes: "cloud[1-9]", State: "idle", Flags: "~"}, {Nodes: "n1", State: "idle"}}
	if got := someNodes(up); got[0] != "n1" || got[1] != "cloud1" {
		t.Errorf("of these one is up: %v", got)
	}
	if want := []string{"cloud1", "n1", "cloud2", "n2", "cloud3", "cloud4"}; !slices.Equal(got, want) {
		t.Errorf("nodes %v, want %v", got, want)
	}
}

// A node whose name resolves nowhere is not the end: another one will do.
func TestFirstAddress(t *testing.T) {
	addressOf := func(node string) (string, error) {
		if strings.HasPrefix(node, "cloud") {
			return "", errors.New("no such host")
		}
		return "10.0.0.1", nil
	}
	if got, err := firstAddress([]string{"cloud1", "n1"}, addressOf); err != nil || got != "10.0.0.1" {
		t.Errorf("address %q, %v", got, err)
	}
	_, err := firstAddress([]string{"cloud1", "cloud2"}, addressOf)
	var told *workflow.Error
	if !errors.As(err, &told) || told.Code != workflow.CodeUnavailable || !strings.Contains(told.Message, "cloud1, cloud2") || !strings.Contains(told.Hint, "server.node_host") {
		t.Errorf("if there is none: %v", err)
	}
	if _, err := firstAddress(nil, addressOf); err == nil {
		t.Error("no nodes, no error")
	}
}
