package artifact

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// HashInput is what the outcome of a job depends on, as far as the database knows. The
// order of ids and of keys of JSON objects does not matter.
type HashInput struct {
	Command          string
	InvocationScript *string // empty is the same as none
	Env              map[string]string
	DependsOn        []int64
	InputFiles       []int64
	OutputFiles      []int64
	InputUserData    []int64
	OutputUserData   []int64
	InputData        []UserDataContent // of InputUserData
}

// UserDataContent is the value of a user data record.
type UserDataContent struct {
	ID   int64
	Data json.RawMessage
}

// InputHash returns a hash of in, which changes exactly when in changes. Hashes can only be
// compared for equality.
func InputHash(in HashInput) string {
	buf := make([]byte, 0, 512)
	buf = appendText(buf, in.Command)
	script := ""
	if in.InvocationScript != nil {
		script = *in.InvocationScript
	}
	buf = appendText(buf, script)
	buf = binary.AppendUvarint(buf, uint64(len(in.Env)))
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		buf = appendText(appendText(buf, name), in.Env[name])
	}
	for _, ids := range [][]int64{in.DependsOn, in.InputFiles, in.OutputFiles, in.InputUserData, in.OutputUserData} {
		buf = appendIDs(buf, ids)
	}
	data := slices.Clone(in.InputData)
	slices.SortFunc(data, func(a, b UserDataContent) int { return cmp.Compare(a.ID, b.ID) })
	buf = binary.AppendUvarint(buf, uint64(len(data)))
	for _, d := range data {
		buf = binary.AppendVarint(buf, d.ID)
		buf = appendText(buf, string(canonicalJSON(d.Data)))
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:])
}

func appendText(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

func appendIDs(buf []byte, ids []int64) []byte {
	if !slices.IsSorted(ids) {
		ids = slices.Clone(ids)
		slices.Sort(ids)
	}
	buf = binary.AppendUvarint(buf, uint64(len(ids)))
	for _, id := range ids {
		buf = binary.AppendVarint(buf, id)
	}
	return buf
}

// canonicalJSON returns a JSON value without spaces and with sorted keys; numbers stay as
// written. It returns null for no data, and text that is not JSON unchanged.
func canonicalJSON(data json.RawMessage) []byte {
	if len(data) == 0 {
		return []byte("null")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return data
	}
	text, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return text
}
