package cluster

// bounds remembers when jobs start at the earliest. Reservations only take resources, so a
// job that needs as much or more for as long or longer starts no earlier than one that was
// tested before.
type bounds struct {
	now   int64
	known []bound
}

type bound struct {
	need          Resources
	length, start int64
}

func (b *bounds) reset(now int64) {
	b.known = b.known[:0]
	b.now = now
}

// of returns a time before which a job of so long does not start.
func (b *bounds) of(need Resources, length int64) int64 {
	start := b.now
	for i := range b.known {
		if k := &b.known[i]; k.start > start && k.length <= length && need.holds(k.need) {
			start = k.start
		}
	}
	return start
}

// set says when a job was found to start.
func (b *bounds) set(need Resources, length, start int64) {
	if start <= b.now {
		return
	}
	for i := range b.known {
		if k := &b.known[i]; k.need == need && k.length == length {
			k.start = max(k.start, start)
			return
		}
	}
	b.known = append(b.known, bound{need, length, start})
}
