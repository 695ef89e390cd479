package slurm

import (
	"context"
	"strings"
	"time"
)

// Config is the part of `scontrol show config` that matters for running jobs.
type Config struct {
	Cluster           string
	Version           string        // "22.05.8"
	MinJobAge         time.Duration // how long the controller remembers an ended job; 0: it does not say
	KillWait          time.Duration // between SIGTERM and SIGKILL
	SlurmdTimeout     time.Duration // after which a silent node is down; 0: never
	OverTimeLimit     time.Duration
	PreemptMode       []string // REQUEUE, GANG, …; OFF is nil
	PreemptType       string
	SelectType        string
	MaxArraySize      int
	MaxJobCount       int
	JobRequeue        bool // batch jobs are requeued unless they say otherwise
	AccountingStorage string
	AccountingEnforce []string
	JobAcctGather     string
	DefMemory         Memory
	MaxMemory         Memory
	Values            map[string]string // everything, by Slurm's names
}

// Accounted reports whether there is an accounting database that sacct can query.
func (c Config) Accounted() bool {
	return c.AccountingStorage != "" && !strings.HasSuffix(c.AccountingStorage, "/none")
}

// Config returns the cluster's configuration.
func (c *Client) Config(ctx context.Context) (Config, error) {
	out, err := c.ask(ctx, Scontrol, "show", "config")
	if err != nil {
		return Config{}, err
	}
	return parseConfig(string(out.Stdout))
}

// parseConfig parses lines of the form `Name   = value`.
func parseConfig(text string) (Config, error) {
	kv := keyValues{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, "="); ok {
			kv[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	var r reader
	c := Config{
		Cluster:           kv.text("ClusterName"),
		Version:           kv.text("SLURM_VERSION"),
		MinJobAge:         kv.duration("MinJobAge", " sec", time.Second),
		KillWait:          kv.duration("KillWait", " sec", time.Second),
		SlurmdTimeout:     kv.duration("SlurmdTimeout", " sec", time.Second),
		OverTimeLimit:     kv.duration("OverTimeLimit", " min", time.Minute),
		PreemptType:       kv.text("PreemptType"),
		SelectType:        kv.text("SelectType"),
		MaxArraySize:      int(r.number(kv["MaxArraySize"])),
		MaxJobCount:       int(r.number(kv["MaxJobCount"])),
		JobRequeue:        kv["JobRequeue"] == "1",
		AccountingStorage: kv.text("AccountingStorageType"),
		AccountingEnforce: listOf(noneIsEmpty(kv["AccountingStorageEnforce"])),
		JobAcctGather:     kv.text("JobAcctGatherType"),
		DefMemory:         r.memoryPer(kv, "DefMemPer"),
		MaxMemory:         r.memoryPer(kv, "MaxMemPer"),
		Values:            kv,
	}
	if mode := kv["PreemptMode"]; mode != "OFF" {
		c.PreemptMode = listOf(mode)
	}
	if r.err != nil || c.Cluster == "" {
		return Config{}, garbled(Scontrol, "the answer is not a configuration")
	}
	return c, nil
}

// duration returns a number of units such as "300 sec"; words (INFINITE,
// UNLIMITED) and an empty value are 0.
func (kv keyValues) duration(key, suffix string, unit time.Duration) time.Duration {
	n, err := parseNumber(strings.TrimSuffix(kv[key], suffix))
	if err != nil || n > int64(maxDays*24*time.Hour/unit) {
		return 0
	}
	return time.Duration(n) * unit
}
