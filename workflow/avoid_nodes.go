package workflow

import (
	"slices"
	"time"
)

// AvoidMode says which nodes the next attempt avoids.
type AvoidMode string

// The modes; the empty one means none.
const (
	AvoidNone AvoidMode = "none"
	AvoidLast AvoidMode = "last" // the node of the latest failed attempt
	AvoidAll  AvoidMode = "all"  // the nodes of all failed attempts, within bounds
)

// AvoidNodes makes the next attempts of a job avoid nodes on which it failed.
type AvoidNodes struct {
	// Mode is last (the node of the latest failed attempt), all (those of all failed
	// attempts) or none.
	Mode AvoidMode `json:"mode" jsonschema:"enum=none,enum=last,enum=all"`
	// Max is the maximum number of nodes with mode all, 8 by default; the oldest is
	// dropped first.
	Max *int64 `json:"max,omitempty" jsonschema:"minimum=1"`
	// TTL is how long a node is avoided, without limit by default.
	TTL string `json:"ttl,omitempty"`
}

// DefaultAvoidMax is the default maximum number of nodes with mode all.
const DefaultAvoidMax = 8

// AvoidedNode is a node that a job avoids.
type AvoidedNode struct {
	Node    string `json:"node"`
	UntilMS int64  `json:"until_ms,omitempty"` // 0: without limit
}

// Extend returns the list of nodes to avoid after an attempt failed on a node, without
// expired entries. An empty node name means that the node is unknown.
func (a *AvoidNodes) Extend(list []AvoidedNode, node string, nowMS int64) []AvoidedNode {
	if a == nil || a.Mode == "" || a.Mode == AvoidNone {
		return nil
	}
	var kept []AvoidedNode
	if a.Mode == AvoidAll {
		kept = slices.Clone(list)
		kept = slices.DeleteFunc(kept, func(n AvoidedNode) bool {
			return n.Node == node || n.UntilMS != 0 && n.UntilMS <= nowMS
		})
	}
	if node != "" {
		n := AvoidedNode{Node: node}
		if ttl := durationOr(a.TTL, 0); ttl > 0 {
			n.UntilMS = nowMS + ttl.Milliseconds()
		}
		kept = append(kept, n)
	}
	limit := int64(DefaultAvoidMax)
	if a.Max != nil {
		limit = *a.Max
	}
	return kept[max(0, int64(len(kept))-limit):]
}

func (a *AvoidNodes) validate(p *problems, path string) {
	if a == nil {
		return
	}
	p.oneOf(path+".mode", string(a.Mode), "none", "last", "all")
	if a.Max != nil && *a.Max < 1 {
		p.add(path+".max", "write 1 or more, or mode: none", "max must be at least 1, not %d", *a.Max)
	}
	if a.Max != nil && a.Mode != AvoidAll {
		p.add(path+".max", "remove it or write mode: all", "max applies only to mode all")
	}
	p.duration(path+".ttl", a.TTL)
	if a.TTL != "" && durationOr(a.TTL, time.Second) == 0 {
		p.add(path+".ttl", "remove it to avoid the node without limit", "ttl must be longer than 0")
	}
}
