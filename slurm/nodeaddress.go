package slurm

import (
	"context"
	"regexp"
)

var nodeAddr = regexp.MustCompile(`(?m)(?:^|\s)NodeAddr=(\S+)`)

// NodeAddress returns the address by which Slurm reaches a node: a name or an
// IP address.
func (c *Client) NodeAddress(ctx context.Context, node string) (string, error) {
	out, err := c.ask(ctx, Scontrol, "--local", "show", "node", "--oneliner", node)
	if err != nil {
		return "", err
	}
	match := nodeAddr.FindSubmatch(out.Stdout)
	if match == nil {
		return "", garbled(Scontrol, "no NodeAddr of node "+node)
	}
	return string(match[1]), nil
}
