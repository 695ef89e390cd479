package slurm

import (
	"context"
	"strings"
	"time"
)

// Partition is a queue of the cluster as `scontrol show partition` prints it.
type Partition struct {
	Name           string
	Default        bool
	State          string // UP, DOWN, DRAIN, INACTIVE
	Hidden         bool
	MaxTime        time.Duration // Unlimited if there is no limit
	DefaultTime    time.Duration // NoDuration if a job gets MaxTime
	MinNodes       int
	MaxNodes       int // 0: no limit
	MaxCPUsPerNode int // 0: no limit
	DefMemory      Memory
	MaxMemory      Memory // 0: no limit
	OverSubscribe  string // NO, YES:4, FORCE:4, EXCLUSIVE
	PreemptMode    string // OFF, REQUEUE, CANCEL, SUSPEND, …
	GraceTime      time.Duration
	PriorityTier   int
	QOS            string
	AllowAccounts  []string // nil: all
	DenyAccounts   []string
	AllowQOS       []string // nil: all
	DenyQOS        []string
	AllowGroups    []string // nil: all
	RootOnly       bool
	ReqResv        bool   // jobs there must use a reservation
	Nodes          string // see ExpandNodes
	TotalNodes     int
	TotalCPUs      int
	TRES           TRES
	Values         map[string]string // everything, by Slurm's names
}

// Partitions returns all partitions that the user may see.
func (c *Client) Partitions(ctx context.Context) ([]Partition, error) {
	out, err := c.ask(ctx, Scontrol, "--local", "--oneliner", "show", "partition")
	if err != nil {
		return nil, err
	}
	return parsePartitions(string(out.Stdout))
}

func parsePartitions(text string) ([]Partition, error) {
	var all []Partition
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		p, err := parsePartition(parseKeyValues(line))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, garbled(Scontrol, "the answer is empty")
	}
	return all, nil
}

func parsePartition(kv keyValues) (Partition, error) {
	var r reader
	p := Partition{
		Name:           kv["PartitionName"],
		Default:        kv["Default"] == "YES",
		State:          kv["State"],
		Hidden:         kv["Hidden"] == "YES",
		MaxTime:        parsed(&r, ParseDuration, kv["MaxTime"]),
		DefaultTime:    parsed(&r, ParseDuration, kv["DefaultTime"]),
		MinNodes:       int(r.number(kv["MinNodes"])),
		MaxNodes:       int(r.limit(kv["MaxNodes"])),
		MaxCPUsPerNode: int(r.limit(kv["MaxCPUsPerNode"])),
		DefMemory:      r.memoryPer(kv, "DefMemPer"),
		MaxMemory:      r.memoryPer(kv, "MaxMemPer"),
		OverSubscribe:  kv["OverSubscribe"],
		PreemptMode:    kv["PreemptMode"],
		GraceTime:      time.Duration(r.number(kv["GraceTime"])) * time.Second,
		PriorityTier:   int(r.number(kv["PriorityTier"])),
		QOS:            kv.text("QoS"),
		AllowAccounts:  listOf(kv["AllowAccounts"]),
		DenyAccounts:   listOf(kv["DenyAccounts"]),
		AllowQOS:       listOf(kv["AllowQos"]),
		DenyQOS:        listOf(kv["DenyQos"]),
		AllowGroups:    listOf(kv["AllowGroups"]),
		RootOnly:       kv["RootOnly"] == "YES",
		ReqResv:        kv["ReqResv"] == "YES",
		Nodes:          kv.text("Nodes"),
		TotalNodes:     int(r.number(kv["TotalNodes"])),
		TotalCPUs:      int(r.number(kv["TotalCPUs"])),
		Values:         kv,
	}
	p.TRES, _ = ParseTRES(kv["TRES"])
	if r.err != nil || p.Name == "" {
		return Partition{}, garbled(Scontrol, "the answer does not describe partitions")
	}
	return p, nil
}

// limit parses a count; no limit is 0.
func (r *reader) limit(text string) int64 {
	if strings.EqualFold(text, "UNLIMITED") || strings.EqualFold(text, "INFINITE") {
		return 0
	}
	return r.number(text)
}

// memoryPer parses an amount in MiB whose key ends with what it applies to.
func (r *reader) memoryPer(kv keyValues, prefix string) Memory {
	for suffix, per := range map[string]Per{"Node": PerNode, "CPU": PerCPU} {
		if text, ok := kv[prefix+suffix]; ok {
			m := r.memory(text)
			m.Per = per
			return m
		}
	}
	return Memory{}
}

// listOf splits at commas; ALL and an empty text are nil.
func listOf(text string) []string {
	if text = null(text); text == "" || text == "ALL" {
		return nil
	}
	return strings.Split(text, ",")
}
