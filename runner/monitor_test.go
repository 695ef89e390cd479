package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestTimeSeries(t *testing.T) {
	t.Parallel()
	d := runnertest.New(job("sleep 0.3"))
	d.Welcome.ResourceMonitor = &workflow.ResourceMonitorConfig{
		SampleIntervalSeconds: 1,
		Jobs:                  &workflow.JobMonitorConfig{Enabled: true, Granularity: "time_series"},
		ComputeNode:           &workflow.NodeMonitorConfig{Enabled: true, Granularity: "time_series", CPU: true, Memory: true},
	}
	o := testOptions(t, d)
	s := run(t, o)
	left := d.Left()
	if len(left) != 1 {
		t.Fatalf("left %+v", left)
	}
	paths, err := filepath.Glob(filepath.Join(o.OutputDir, output.MetricsDir, "resource_metrics_wf1_h*_r1.db"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("files %v, %v", paths, err)
	}
	if info, err := os.Stat(paths[0]); err != nil || info.Size() == 0 {
		t.Errorf("file %v, %v", info, err)
	}
	if s.SampleCount != left[0].SampleCount {
		t.Errorf("summary %+v, told %+v", s, left[0])
	}
}

func TestMonitorSumsUpTheNode(t *testing.T) {
	m := newMonitor(&workflow.ResourceMonitorConfig{
		ComputeNode: &workflow.NodeMonitorConfig{Enabled: true, Granularity: "time_series", CPU: true, Memory: true},
	}, filepath.Join(t.TempDir(), "m.db"), testLog())
	m.measureNode(time.Now())
	m.usage.busy -= 500 // as if the first measurement had been earlier
	m.usage.total -= 1000
	m.measureNode(time.Now())
	s := m.usage.summary()
	if s.SampleCount != 1 || s.PeakCPUPercent < 40 || s.PeakCPUPercent > 60 || s.PeakMemoryBytes <= 0 {
		t.Errorf("summary %+v", s)
	}
	if len(m.batch.System) != 1 {
		t.Errorf("samples %+v", m.batch.System)
	}
	m.write(true)
	if !m.batch.Empty() {
		t.Errorf("not written: %+v", m.batch)
	}
}

func TestMonitorConfig(t *testing.T) {
	on := &workflow.JobMonitorConfig{Enabled: true, Granularity: "summary"}
	for _, c := range []struct {
		name     string
		config   *workflow.ResourceMonitorConfig
		interval time.Duration
		monitor  bool
	}{
		{"none", nil, 0, false},
		{"off", &workflow.ResourceMonitorConfig{}, 0, false},
		{"legacy", &workflow.ResourceMonitorConfig{Enabled: true, SampleIntervalSeconds: 3}, 3 * time.Second, false},
		{"legacy series", &workflow.ResourceMonitorConfig{Enabled: true, Granularity: "time_series"}, defaultInterval, true},
		{"jobs", &workflow.ResourceMonitorConfig{Jobs: on}, defaultInterval, false},
		{"jobs win", &workflow.ResourceMonitorConfig{Enabled: true, Jobs: &workflow.JobMonitorConfig{}}, 0, false},
		{"node", &workflow.ResourceMonitorConfig{ComputeNode: &workflow.NodeMonitorConfig{Enabled: true}}, 0, true},
	} {
		if got := monitorInterval(c.config); got != c.interval {
			t.Errorf("%s: interval %s, want %s", c.name, got, c.interval)
		}
		if got := newMonitor(c.config, "", testLog()) != nil; got != c.monitor {
			t.Errorf("%s: monitor %v", c.name, got)
		}
	}
}
