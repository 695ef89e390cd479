package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// A node whose name does not resolve is skipped.
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
