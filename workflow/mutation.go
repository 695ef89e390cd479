package workflow

import (
	"math"
	"strings"
	"time"
)

// GrowFrom says what a request grows from.
type GrowFrom string

// What a request grows from; the empty one is requested.
const (
	GrowFromRequested GrowFrom = "requested"
	GrowFromPeak      GrowFrom = "peak" // what the attempt used, if that is more
)

// Growth raises one resource of a job.
type Growth struct {
	Factor float64 `json:"factor" jsonschema:"minimum=1"` // by which it grows
	Max    string  `json:"max,omitempty"`                 // in the resource's own form
	// From is what it grows from: the request, or what the attempt used if that is more.
	From GrowFrom `json:"from,omitempty" jsonschema:"enum=requested,enum=peak"`
}

// Mutation changes what the next attempt of a job asks for. The requirement
// that the job shares with others stays as it is.
type Mutation struct {
	Memory  *Growth `json:"memory,omitempty"`  // max for example 512g
	Runtime *Growth `json:"runtime,omitempty"` // max for example P2D
}

// Usage is what an attempt used; 0 is unknown.
type Usage struct {
	PeakMemoryBytes int64
	Elapsed         time.Duration
}

// Apply returns what the next attempt asks for, and a text such as "memory 4g
// -> 6g", which says too where the cap of the rule is in the way; empty if
// nothing changes. What is not enforced does not grow: the default requirement is
// no request.
func (m *Mutation) Apply(r ResourceRequirements, used Usage) (ResourceRequirements, string) {
	if m == nil || !r.Enforced() {
		return r, ""
	}
	var said []string
	if g := m.Memory; g != nil {
		if now, err := ParseMemory(r.Memory); err == nil && now > 0 {
			limit, _ := ParseMemory(g.Max) // 0: none
			grown, capped := g.grow(ResourceMemory, float64(now), float64(used.PeakMemoryBytes), float64(limit))
			old := r.Memory
			if grown > float64(now) {
				r.Memory = FormatMemory(int64(grown))
			}
			said = append(said, g.say("memory", old, r.Memory, capped)...)
		}
	}
	if g := m.Runtime; g != nil {
		if now, err := ParseRuntime(r.Runtime); err == nil && now > 0 {
			limit := parsed(g.Max, 0).Seconds()
			grown, capped := g.grow(ResourceRuntime, float64(now), used.Elapsed.Seconds(), limit)
			old := r.Runtime
			if grown > float64(now) {
				r.Runtime = FormatRuntime(int64(grown))
			}
			said = append(said, g.say("runtime", old, r.Runtime, capped)...)
		}
	}
	return r, strings.Join(said, ", ")
}

// say says what has become of a request.
func (g *Growth) say(what, before, after string, capped bool) []string {
	text := what + " " + before + " -> " + after
	if before == after {
		text = what + " stays " + after
	}
	switch {
	case capped:
		return []string{text + ", as the max of the rule is " + g.Max}
	case before == after:
		return nil
	}
	return []string{text}
}

// grow is the new amount of a resource, and whether the limit of the rule made it
// less; the cap holds after rounding, and an amount that is above it already
// stays.
func (g *Growth) grow(r Resource, now, used, limit float64) (grown float64, capped bool) {
	base := now
	if g.From == GrowFromPeak {
		base = max(now, used)
	}
	most := float64(maxRuntime)
	if r == ResourceMemory {
		most = 1 << 60
	}
	if limit > 0 {
		most = min(most, limit)
	}
	return max(now, min(r.RoundUp(min(base*g.Factor, most)), most)), limit > 0 && base*g.Factor > limit
}

func (m *Mutation) validate(p *problems, path string) {
	if m == nil {
		return
	}
	if m.Memory == nil && m.Runtime == nil {
		p.add(path, "write memory or runtime", "nothing is changed")
	}
	m.Memory.validate(p, path+".memory", ParseMemory)
	m.Runtime.validate(p, path+".runtime", func(text string) (int64, error) { d, err := ParseDuration(text); return int64(d), err })
}

func (g *Growth) validate(p *problems, path string, parse func(string) (int64, error)) {
	if g == nil {
		return
	}
	if !(g.Factor >= 1) || math.IsInf(g.Factor, 0) {
		p.add(path+".factor", "write 1 or more, for example 1.5", "a request cannot grow by a factor of %g", g.Factor)
	}
	p.oneOf(path+".from", string(g.From), "", "requested", "peak")
	if g.Max != "" {
		limit, err := parse(g.Max)
		if p.err(path+".max", err); err == nil && limit == 0 {
			p.add(path+".max", "remove it to let the request grow without bound", "a request cannot stop at nothing")
		}
	}
}
