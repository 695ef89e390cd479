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

// HashInput is what a job's outcome depends on, as far as the database knows.
// The order of ids and of the keys of JSON objects does not matter.
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

// InputHash returns a hash of in: it changes exactly when something in it does.
// Only equality means anything.
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

// canonicalJSON writes a value without spaces and with sorted keys; numbers
// stay as they are written. What is not JSON stays as it is, and no data is the
// same as null.
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
