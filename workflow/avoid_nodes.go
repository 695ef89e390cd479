package workflow

import (
	"slices"
	"time"
)

// AvoidMode says which nodes the next attempt keeps away from.
type AvoidMode string

// The modes; the empty one is none.
const (
	AvoidNone AvoidMode = "none"
	AvoidLast AvoidMode = "last" // the node of the latest failed attempt
	AvoidAll  AvoidMode = "all"  // the nodes of all failed attempts, within bounds
)

// AvoidNodes keeps the next attempts of a job away from nodes where it failed.
type AvoidNodes struct {
	// Mode: the node of the latest failed attempt (last), or those of all.
	Mode AvoidMode `json:"mode" jsonschema:"enum=none,enum=last,enum=all"`
	// Max is how many nodes a list of mode all has, 8 by default; the oldest is
	// dropped first.
	Max *int64 `json:"max,omitempty" jsonschema:"minimum=1"`
	// TTL is how long a node stays on the list, for ever by default.
	TTL string `json:"ttl,omitempty"`
}

// DefaultAvoidMax is how many nodes a list of mode all has by default.
const DefaultAvoidMax = 8

// AvoidedNode is a node that a job keeps away from.
type AvoidedNode struct {
	Node    string `json:"node"`
	UntilMS int64  `json:"until_ms,omitempty"` // 0: for ever
}

// Extend returns the list after an attempt that failed on a node; nodes whose
// time is over are left out. An empty node is unknown.
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
		if ttl := parsed(a.TTL, 0); ttl > 0 {
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
		p.add(path+".max", "write 1 or more, or mode: none", "a list of %d nodes avoids none", *a.Max)
	}
	if a.Max != nil && a.Mode != AvoidAll {
		p.add(path+".max", "remove it or write mode: all", "max is for mode all")
	}
	p.duration(path+".ttl", a.TTL)
	if a.TTL != "" && parsed(a.TTL, time.Second) == 0 {
		p.add(path+".ttl", "remove it to avoid the node for ever", "a ttl of nothing avoids no node")
	}
}
