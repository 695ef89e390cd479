package workflow

import (
	"math"
	"strings"
	"time"
)

// GrowFrom says which amount is multiplied by the factor.
type GrowFrom string

// The values of GrowFrom; the empty one means requested.
const (
	GrowFromRequested GrowFrom = "requested"
	GrowFromPeak      GrowFrom = "peak" // what the attempt used, if that is more
)

// Growth raises one resource of a job.
type Growth struct {
	Factor float64 `json:"factor" jsonschema:"minimum=1"` // by which the amount is multiplied
	Max    string  `json:"max,omitempty"`                 // the largest amount, in the form of the resource
	// From is the amount that is multiplied: requested, or peak (what the attempt used, if
	// that is more).
	From GrowFrom `json:"from,omitempty" jsonschema:"enum=requested,enum=peak"`
}

// Mutation changes the requirements of the next attempt of a job. Other jobs with the same
// requirements keep theirs.
type Mutation struct {
	Memory  *Growth `json:"memory,omitempty"`  // max is for example 512g
	Runtime *Growth `json:"runtime,omitempty"` // max is for example P2D
}

// Usage is what an attempt used; 0 means unknown.
type Usage struct {
	PeakMemoryBytes int64
	Elapsed         time.Duration
}

// Apply returns the requirements of the next attempt, and a text such as "memory 4g ->
// 6g", which also says whether the max of the rule limited them. The text is empty if
// nothing changes. The default requirements do not grow, because they are not enforced.
func (m *Mutation) Apply(r ResourceRequirements, used Usage) (ResourceRequirements, string) {
	if m == nil || !r.Enforced() {
		return r, ""
	}
	var changes []string
	if g := m.Memory; g != nil {
		if now, err := ParseMemory(r.Memory); err == nil && now > 0 {
			limit, _ := ParseMemory(g.Max) // 0: none
			grown, capped := g.grow(ResourceMemory, float64(now), float64(used.PeakMemoryBytes), float64(limit))
			old := r.Memory
			if grown > float64(now) {
				r.Memory = FormatMemory(int64(grown))
			}
			changes = append(changes, g.describe("memory", old, r.Memory, capped)...)
		}
	}
	if g := m.Runtime; g != nil {
		if now, err := ParseRuntime(r.Runtime); err == nil && now > 0 {
			limit := durationOr(g.Max, 0).Seconds()
			grown, capped := g.grow(ResourceRuntime, float64(now), used.Elapsed.Seconds(), limit)
			old := r.Runtime
			if grown > float64(now) {
				r.Runtime = FormatRuntime(int64(grown))
			}
			changes = append(changes, g.describe("runtime", old, r.Runtime, capped)...)
		}
	}
	return r, strings.Join(changes, ", ")
}

// describe returns the change of a resource as text; nil if nothing changed.
func (g *Growth) describe(what, before, after string, capped bool) []string {
	text := what + " " + before + " -> " + after
	if before == after {
		text = what + " stays " + after
	}
	switch {
	case capped:
		return []string{text + " (the max of the rule is " + g.Max + ")"}
	case before == after:
		return nil
	}
	return []string{text}
}

// grow returns the new amount of a resource, and whether the limit of the rule reduced it.
// The limit applies after rounding; an amount that already exceeds it stays.
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
		p.add(path, "write memory or runtime", "an empty mutate changes nothing")
	}
	m.Memory.validate(p, path+".memory", ParseMemory)
	m.Runtime.validate(p, path+".runtime", func(text string) (int64, error) { d, err := ParseDuration(text); return int64(d), err })
}

func (g *Growth) validate(p *problems, path string, parse func(string) (int64, error)) {
	if g == nil {
		return
	}
	if !(g.Factor >= 1) || math.IsInf(g.Factor, 0) {
		p.add(path+".factor", "write 1 or more, for example 1.5", "invalid factor %g", g.Factor)
	}
	p.oneOf(path+".from", string(g.From), "", "requested", "peak")
	if g.Max != "" {
		limit, err := parse(g.Max)
		if p.err(path+".max", err); err == nil && limit == 0 {
			p.add(path+".max", "remove it to let the request grow without limit", "max must be more than 0")
		}
	}
}
