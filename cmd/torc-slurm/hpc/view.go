package hpc

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// siteView is the JSON output for a site.
type siteView struct {
	Name            string                      `json:"name"`
	DisplayName     string                      `json:"display_name"`
	Description     string                      `json:"description"`
	Detection       []siteconfigs.DetectionRule `json:"detection"`
	DefaultAccount  string                      `json:"default_account,omitempty"`
	Accounts        []siteAccountView           `json:"accounts,omitempty"`
	ChargeFactorCPU float64                     `json:"charge_factor_cpu"`
	ChargeFactorGPU float64                     `json:"charge_factor_gpu"`
	SlurmVersion    string                      `json:"slurm_version,omitempty"`
	Partitions      []sitePartitionView         `json:"partitions"`
	Metadata        map[string]string           `json:"metadata"`
}

type siteAccountView struct {
	Name            string `json:"name"`
	MaxSubmitJobs   int64  `json:"max_submit_jobs,omitempty"`
	MaxJobs         int64  `json:"max_jobs,omitempty"`
	MaxWalltimeSecs int64  `json:"max_walltime_secs,omitempty"`
}

// sitePartitionView is the JSON output for a partition. Optional keys without a value are
// left out.
type sitePartitionView struct {
	Name                    string                 `json:"name"`
	Description             string                 `json:"description"`
	CPUsPerNode             int64                  `json:"cpus_per_node"`
	MemoryMB                int64                  `json:"memory_mb"`
	MaxWalltimeSecs         int64                  `json:"max_walltime_secs"` // noLimitSecs if there is no limit
	MaxNodes                int64                  `json:"max_nodes,omitempty"`
	MaxNodesPerUser         int64                  `json:"max_nodes_per_user,omitempty"`
	MinNodes                int64                  `json:"min_nodes,omitempty"`
	TotalNodes              int64                  `json:"total_nodes,omitempty"`
	NodeTypes               []siteconfigs.NodeType `json:"node_types,omitempty"`
	GPUsPerNode             int64                  `json:"gpus_per_node,omitempty"`
	GPUType                 string                 `json:"gpu_type,omitempty"`
	GPUMemoryGB             int64                  `json:"gpu_memory_gb,omitempty"`
	LocalDiskGB             int64                  `json:"local_disk_gb,omitempty"`
	Shared                  bool                   `json:"shared"`
	RequiresExplicitRequest bool                   `json:"requires_explicit_request"`
	OnlyByName              bool                   `json:"only_by_name,omitempty"`
	Default                 bool                   `json:"default,omitempty"`
	Preemptible             bool                   `json:"preemptible,omitempty"`
	Closed                  string                 `json:"closed,omitempty"`
	DefaultQOS              string                 `json:"default_qos,omitempty"`
	Features                []string               `json:"features,omitempty"`
}

// noLimitSecs, a year, means no limit in a key that always has a number.
const noLimitSecs = 365 * 24 * 3600

func viewSite(s *siteconfigs.Site) siteView {
	v := siteView{
		Name: s.Name, DisplayName: s.Title(), Description: s.Description, Detection: s.Detection, DefaultAccount: s.DefaultAccount,
		ChargeFactorCPU: s.ChargeFactorCPU, ChargeFactorGPU: s.ChargeFactorGPU, SlurmVersion: s.SlurmVersion, Metadata: s.Metadata,
	}
	for _, x := range s.Accounts {
		v.Accounts = append(v.Accounts, siteAccountView{x.Name, x.MaxSubmitJobs, x.MaxJobs, int64(x.MaxWalltime / time.Second)})
	}
	for i := range s.Partitions {
		v.Partitions = append(v.Partitions, viewPartition(&s.Partitions[i]))
	}
	return v
}

func viewPartition(p *siteconfigs.Partition) sitePartitionView {
	seconds := int64(p.MaxWalltime / time.Second)
	if seconds == 0 {
		seconds = noLimitSecs
	}
	return sitePartitionView{
		Name: p.Name, Description: p.Description, CPUsPerNode: p.CPUsPerNode, MemoryMB: p.MemoryMB, MaxWalltimeSecs: seconds,
		MaxNodes: p.MaxNodes, MaxNodesPerUser: p.MaxNodesPerUser, MinNodes: p.MinNodes, TotalNodes: p.TotalNodes, NodeTypes: p.NodeTypes,
		GPUsPerNode: p.GPUsPerNode, GPUType: p.GPUType, GPUMemoryGB: p.GPUMemoryGB, LocalDiskGB: p.LocalDiskGB,
		Shared: p.Shared, RequiresExplicitRequest: p.RequiresExplicitRequest, OnlyByName: p.OnlyByName, Default: p.Default,
		Preemptible: p.Preemptible, Closed: p.Closed, DefaultQOS: p.DefaultQOS, Features: p.Features,
	}
}

// partitionColumns returns the columns of a table of partitions.
func partitionColumns() cli.List[sitePartitionView] {
	return cli.List[sitePartitionView]{Things: "partitions", Columns: []cli.Column[sitePartitionView]{
		{Title: "Name", Cell: func(p sitePartitionView) string { return p.Name }},
		{Title: "CPUs/Node", Cell: func(p sitePartitionView) string { return strconv.FormatInt(p.CPUsPerNode, 10) }},
		{Title: "Memory", Cell: func(p sitePartitionView) string { return mebibytes(p.MemoryMB) }},
		{Title: "Max Walltime", Cell: func(p sitePartitionView) string { return walltimeText(p.MaxWalltimeSecs) }},
		{Title: "Max Nodes", Cell: func(p sitePartitionView) string { return orNone(p.MaxNodes) }},
		{Title: "GPUs", Cell: func(p sitePartitionView) string { return gpuText(p) }},
		{Title: "Shared", Cell: func(p sitePartitionView) string { return yes(p.Shared) }},
		{Title: "Explicit", Cell: func(p sitePartitionView) string { return yes(p.RequiresExplicitRequest || p.OnlyByName) }},
		{Title: "Notes", Cell: partitionNotes},
	}}
}

// partitionNotes returns the most important remark about a partition: that it is closed,
// preemptible or the default, or its description.
func partitionNotes(p sitePartitionView) string {
	switch {
	case p.Closed != "":
		return "accepts no jobs: " + p.Closed
	case p.Preemptible:
		return "jobs may be preempted"
	case p.Default:
		return "default"
	case p.MinNodes > 1:
		return fmt.Sprintf("at least %d nodes", p.MinNodes)
	}
	return p.Description
}

func mebibytes(n int64) string { return humanize.IBytes(uint64(max(0, n)) << 20) }

func walltimeText(seconds int64) string {
	if seconds == noLimitSecs {
		return "none"
	}
	return slurm.FormatDuration(time.Duration(seconds) * time.Second)
}

func orNone(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func gpuText(p sitePartitionView) string {
	most, kind := p.GPUsPerNode, p.GPUType
	for _, t := range p.NodeTypes {
		most = max(most, t.GPUs)
	}
	switch {
	case most == 0:
		return "-"
	case kind == "":
		return strconv.FormatInt(most, 10)
	}
	return fmt.Sprintf("%d x %s", most, kind)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// write writes a site and its partitions as text.
func (v *siteView) write(w io.Writer, width int) {
	cli.WriteFields(w, cli.Field{"Name", v.Name}, cli.Field{"Display name", v.DisplayName}, cli.Field{"Description", v.Description},
		cli.Field{"Default account", v.DefaultAccount}, cli.Field{"Slurm", v.SlurmVersion},
		cli.Field{"Charge per node-hour", fmt.Sprintf("%g, with GPUs %g", v.ChargeFactorCPU, v.ChargeFactorGPU)})
	header, rows := partitionColumns().Cells(cli.FormatTable, v.Partitions)
	cli.WriteTable(w, header, rows, width)
}
