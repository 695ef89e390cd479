package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/metricsdb"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

const (
	defaultFlush  = 300 * time.Second
	timeSeries    = "time_series"
	flushTime     = 10 * time.Second // limits one write
	maxBufferSize = 100_000          // samples kept while they cannot be written
)

// monitor measures the node, and writes the time series of jobs and node. The keeper
// provides the samples of jobs.
type monitor struct {
	log      *slog.Logger
	path     string
	node     *workflow.NodeMonitorConfig // nil if the node is not measured
	interval time.Duration
	flush    time.Duration
	jobs     bool // keep the samples of jobs
	system   bool // keep the samples of the node

	mu    sync.Mutex
	batch metricsdb.Batch
	usage nodeUsage
}

// newMonitor returns a monitor, nil if the keeper measures everything that is needed.
func newMonitor(c *workflow.ResourceMonitorConfig, path string, log *slog.Logger) *monitor {
	if c == nil {
		return nil
	}
	m := &monitor{log: log, path: path, interval: defaultInterval, flush: defaultFlush}
	if c.SampleIntervalSeconds > 0 {
		m.interval = seconds(c.SampleIntervalSeconds)
	}
	if c.FlushIntervalSeconds > 0 {
		m.flush = seconds(c.FlushIntervalSeconds)
	}
	granularity := c.Granularity
	if c.Jobs != nil {
		granularity = c.Jobs.Granularity
	}
	m.jobs = monitorInterval(c) > 0 && granularity == timeSeries
	if c.ComputeNode != nil && c.ComputeNode.Enabled {
		m.node = c.ComputeNode
		m.system = c.ComputeNode.Granularity == timeSeries
	}
	if !m.jobs && m.node == nil {
		return nil
	}
	return m
}

// record stores a sample of a job. The keeper calls it.
func (m *monitor) record(now time.Time, g *lease.Grant, s process.Sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.batch.Jobs) >= maxBufferSize {
		return
	}
	if m.batch.Names == nil {
		m.batch.Names = make(map[int64]string)
	}
	m.batch.Names[g.JobID] = g.Name
	m.batch.Jobs = append(m.batch.Jobs, metricsdb.JobSample{
		JobID: g.JobID, Timestamp: now.Unix(), CPUPercent: s.CPUPercent,
		MemoryBytes: s.Memory, Processes: int64(s.Processes),
	})
}

// run measures and writes until ctx is done, and then writes the rest.
func (m *monitor) run(ctx context.Context) {
	sample := time.NewTicker(m.interval)
	defer sample.Stop()
	flush := time.NewTicker(m.flush)
	defer flush.Stop()
	if m.node != nil {
		m.measureNode(time.Now())
	}
	for {
		select {
		case <-ctx.Done():
			if m.node != nil {
				m.measureNode(time.Now())
			}
			m.write(true)
			return
		case now := <-sample.C:
			if m.node != nil {
				m.measureNode(now)
			}
		case <-flush.C:
			m.write(false)
		}
	}
}

// write moves the buffered samples to the file. Samples that cannot be written are kept
// for the next call.
func (m *monitor) write(last bool) {
	m.mu.Lock()
	batch := m.batch
	m.batch = metricsdb.Batch{}
	if last && m.system {
		s := m.usage.summary()
		batch.Summary = &s
	}
	m.mu.Unlock()
	if batch.Empty() {
		return
	}
	if err := writeMetrics(m.path, &batch); err != nil {
		m.log.Warn("cannot write resource metrics", "path", m.path, "error", err)
		m.mu.Lock()
		m.batch.Jobs = append(batch.Jobs, m.batch.Jobs...)
		m.batch.System = append(batch.System, m.batch.System...)
		m.mu.Unlock()
	}
}

func writeMetrics(path string, batch *metricsdb.Batch) error {
	db, err := metricsdb.Open(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	return errors.Join(db.Write(ctx, batch), db.Close())
}

// metricsPath returns the path of this runner's time series.
func (r *Runner) metricsPath() string {
	name := fmt.Sprintf("resource_metrics_wf%d_h%s_r%d.db", r.opts.WorkflowID, r.opts.Hostname, r.about.RunID)
	return filepath.Join(r.opts.OutputDir, output.MetricsDir, name)
}

// nodeUsage sums up measurements of the node.
type nodeUsage struct {
	busy, total int64 // CPU ticks at the last measurement
	count       int64
	peakCPU     float64
	sumCPU      float64
	peakMemory  int64
	sumMemory   float64
}

// measureNode takes one sample. CPU use is known from the second one on.
func (m *monitor) measureNode(now time.Time) {
	busy, total := process.NodeCPU()
	used, memory := process.NodeMemoryUse()
	m.mu.Lock()
	defer m.mu.Unlock()
	u := &m.usage
	first := u.total == 0
	var percent float64
	if total > u.total && !first {
		percent = 100 * float64(busy-u.busy) / float64(total-u.total)
	}
	u.busy, u.total = busy, total
	if first {
		return
	}
	if !m.node.CPU {
		percent = 0
	}
	if !m.node.Memory {
		used, memory = 0, 0
	}
	u.count++
	u.peakCPU = max(u.peakCPU, percent)
	u.sumCPU += percent
	u.peakMemory = max(u.peakMemory, used)
	u.sumMemory += float64(used)
	if m.system && len(m.batch.System) < maxBufferSize {
		m.batch.System = append(m.batch.System, metricsdb.SystemSample{
			Timestamp: now.Unix(), CPUPercent: percent, MemoryBytes: used, TotalMemoryBytes: memory,
		})
	}
}

func (u *nodeUsage) summary() metricsdb.Summary {
	n := float64(max(1, u.count))
	return metricsdb.Summary{
		SampleCount: u.count, PeakCPUPercent: u.peakCPU, AvgCPUPercent: u.sumCPU / n,
		PeakMemoryBytes: u.peakMemory, AvgMemoryBytes: int64(u.sumMemory / n),
	}
}

// defaultInterval is the time between samples if the workflow does not say.
const defaultInterval = 10 * time.Second

// monitorInterval returns how often jobs are to be measured, 0 for never.
func monitorInterval(c *workflow.ResourceMonitorConfig) time.Duration {
	enabled := c != nil && c.Enabled
	if c != nil && c.Jobs != nil {
		enabled = c.Jobs.Enabled
	}
	switch {
	case !enabled:
		return 0
	case c.SampleIntervalSeconds <= 0:
		return defaultInterval
	}
	return seconds(c.SampleIntervalSeconds)
}
