package row

import (
	"crypto/sha256"
	"encoding/binary"
)

// GateHash identifies a set of dependencies.
type GateHash [24]byte

// HashGate returns the hash of a set of dependencies, which must be ascending and unique.
// It begins with the lowest id, so that gates created in sequence are mostly adjacent in
// the index.
func HashGate(deps []int64) (h GateHash) {
	buf := make([]byte, 0, 10*len(deps))
	for _, id := range deps {
		buf = binary.AppendUvarint(buf, uint64(id))
	}
	sum := sha256.Sum256(buf)
	if len(deps) > 0 {
		binary.BigEndian.PutUint64(h[:], uint64(deps[0]))
	}
	copy(h[8:], sum[:])
	return h
}
