package waits

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
)

// Key identifies a wait: that of one restart of a Slurm job.
type Key struct {
	Cluster string // as sbatch said; "" is the cluster of the history
	JobID   int64
	Restart int64 // 0 for the first start
}

// version is that of a line. It changes when older programs would misread it.
const version = 1

// header is the first line of a file.
type header struct {
	Version     int    `json:"version"`
	Fingerprint string `json:"fingerprint"`
}

// record is one line of a file.
type record struct {
	Version    int    `json:"v"`
	Cluster    string `json:"cluster,omitempty"`
	JobID      int64  `json:"job"`
	Restart    int64  `json:"restart,omitempty"`
	Partition  string `json:"partition"`
	QOS        string `json:"qos,omitempty"`
	Account    string `json:"account,omitempty"`
	Nodes      int64  `json:"nodes"`
	CPUs       int64  `json:"cpus"`
	GPUs       int64  `json:"gpus,omitempty"`
	WalltimeMS int64  `json:"walltime_ms"`
	AskedMS    int64  `json:"asked_ms"`
	WaitedMS   int64  `json:"waited_ms"`
	NotStarted bool   `json:"not_started,omitempty"`
	Free       bool   `json:"free,omitempty"`
}

// What a record may say at most: more is an error in it.
const (
	maxWait     = MaxAge
	maxWalltime = 366 * 24 * time.Hour
	maxNodes    = 1 << 20
	maxCPUs     = 1 << 30
	maxName     = 300  // bytes
	maxLine     = 2048 // bytes
)

func recordOf(k Key, p *forecast.Past) record {
	return record{
		Version: version, Cluster: k.Cluster, JobID: k.JobID, Restart: k.Restart,
		Partition: p.Partition, QOS: p.QOS, Account: p.Account, Nodes: p.Nodes, CPUs: p.CPUs, GPUs: p.GPUs,
		WalltimeMS: p.Walltime.Milliseconds(), AskedMS: p.Asked.UnixMilli(), WaitedMS: p.Waited.Milliseconds(),
		NotStarted: p.NotStarted, Free: p.Free,
	}
}

func (r *record) past() forecast.Past {
	return forecast.Past{
		Partition: r.Partition, QOS: r.QOS, Account: r.Account, Nodes: r.Nodes, CPUs: r.CPUs, GPUs: r.GPUs,
		Walltime: ms(r.WalltimeMS), Asked: time.UnixMilli(r.AskedMS), Waited: ms(r.WaitedMS), NotStarted: r.NotStarted, Free: r.Free,
	}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// identity is what makes two records the same. The time of the request is part of it: a
// cluster whose state was lost gives the ids of its jobs again.
type identity struct {
	key   Key
	asked int64
}

func (r *record) identity() identity {
	return identity{Key{r.Cluster, r.JobID, r.Restart}, r.AskedMS}
}

// sane reports whether the record can be true, whenever it is read.
func (r *record) sane() bool {
	return r.Version == version && r.JobID > 0 && r.Restart >= 0 &&
		r.Nodes > 0 && r.Nodes <= maxNodes && r.CPUs > 0 && r.CPUs <= maxCPUs && r.GPUs >= 0 && r.GPUs <= maxCPUs &&
		r.WalltimeMS > 0 && r.WalltimeMS <= maxWalltime.Milliseconds() &&
		r.AskedMS > 0 && r.AskedMS < maxTime && r.WaitedMS >= 0 && r.WaitedMS <= maxWait.Milliseconds() &&
		len(r.Cluster) <= maxName && len(r.Partition) <= maxName && len(r.QOS) <= maxName && len(r.Account) <= maxName
}

// maxTime is the year 2262 in milliseconds, when a time in nanoseconds overflows.
const maxTime = int64(9_223_372_036_854)

// current reports whether the record is neither too old nor from the future, where a clock
// differs.
func (r *record) current(now time.Time) bool {
	asked := time.UnixMilli(r.AskedMS)
	return now.Sub(asked) <= MaxAge && !asked.Add(ms(r.WaitedMS)).After(now.Add(clockTolerance))
}

// line returns the record as a line of a file.
func (r *record) line() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("a record of numbers and strings cannot be encoded: %v", err))
	}
	return append(text, '\n')
}

// parseRecord parses a line; false if it is not a record.
func parseRecord(line []byte) (record, bool) {
	var r record
	if len(line) > maxLine || json.Unmarshal(line, &r) != nil || !r.sane() {
		return record{}, false
	}
	return r, true
}

// parseFile parses a file. A last line that is truncated is skipped like others that cannot
// be read. problem says why nothing in the file can be used; "" if it can be.
func parseFile(text []byte, fingerprint string) (records []record, skipped int, problem string) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	var h header
	switch err := json.Unmarshal(first, &h); {
	case err != nil:
		return nil, 0, "its first line cannot be read"
	case h.Version != version:
		return nil, 0, fmt.Sprintf("its version is %d instead of %d", h.Version, version)
	case h.Fingerprint != fingerprint:
		return nil, 0, "it is from another cluster of the same name, or from a time when this one had other partitions"
	}
	for line := range bytes.Lines(rest) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if r, ok := parseRecord(line); ok {
			records = append(records, r)
		} else {
			skipped++
		}
	}
	return records, skipped, ""
}

// headerLine returns the first line of a file.
func headerLine(fingerprint string) []byte {
	text, err := json.Marshal(header{version, fingerprint})
	if err != nil {
		panic(fmt.Sprintf("a header of a number and a string cannot be encoded: %v", err))
	}
	return append(text, '\n')
}

// sorted returns the records by the time of their requests.
func sorted(records []record) []record {
	return slices.SortedStableFunc(slices.Values(records), func(a, b record) int {
		return cmp.Or(cmp.Compare(a.AskedMS, b.AskedMS), cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Restart, b.Restart), cmp.Compare(a.Cluster, b.Cluster))
	})
}

// newest returns the records with the latest requests, at most so many, and at most so many
// bytes of lines; oldest first.
func newest(records []record, most, bytes int) []record {
	all := sorted(records)
	from := len(all)
	for from > 0 && len(all)-from < most {
		if bytes -= len(all[from-1].line()); bytes < 0 {
			break
		}
		from--
	}
	return all[from:]
}
