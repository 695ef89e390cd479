package spec

import (
	"regexp"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

var terminationSignals = []string{"TERM", "INT", "USR1", "USR2", "HUP", "KILL"}

var (
	mpiToken   = regexp.MustCompile(`^[A-Za-z0-9+_.-]+$`)
	srunSignal = regexp.MustCompile(`^[A-Z0-9]+(@\d+)?$`)
)

// readExecution reads execution_config; nil if it is empty or the default.
func readExecution(r *report, doc *Document) *workflow.ExecutionConfig {
	e := doc.ExecutionConfig
	if e == nil {
		return nil
	}
	checkMode(r, doc)
	if s := strings.TrimPrefix(e.TerminationSignal, "SIG"); e.TerminationSignal != "" && !slices.Contains(terminationSignals, s) {
		hint := "use one of " + strings.Join(terminationSignals, ", ")
		if near := workflow.Nearest(s, terminationSignals); near != "" {
			hint = "did you mean SIG" + near + "?"
		}
		r.fail(e.at.get("termination_signal"), hint, "%s is not a termination signal", clip(e.TerminationSignal))
	}
	if e.SrunTerminationSignal != "" && !srunSignal.MatchString(e.SrunTerminationSignal) {
		r.fail(e.at.get("srun_termination_signal"), "write a signal and the seconds before the end, for example TERM@120", "%s is not a --signal of srun", clip(e.SrunTerminationSignal))
	}
	c := &workflow.ExecutionConfig{
		Mode: e.Mode, SigkillHeadroomSecs: e.SigkillHeadroomSeconds, TimeoutExitCode: e.TimeoutExitCode, StaggeredStart: e.StaggeredStart,
		LimitResources: e.LimitResources, TerminationSignal: e.TerminationSignal, SigtermLeadSecs: e.SigtermLeadSeconds,
		OOMExitCode: e.OOMExitCode, SrunTerminationSignal: e.SrunTerminationSignal, SrunMPI: e.SrunMPI, EnableCPUBind: e.EnableCPUBind,
		Stdio: stdioConfig(e.Stdio),
	}
	if isDefaultExecution(c) {
		return nil
	}
	return c
}

// isDefaultExecution reports whether c equals the defaults.
func isDefaultExecution(c *workflow.ExecutionConfig) bool {
	is := func(p *int64, value int64) bool { return p == nil || *p == value }
	flag := func(p *bool, value bool) bool { return p == nil || *p == value }
	return (c.Mode == "" || c.Mode == "direct") && is(c.SigkillHeadroomSecs, 60) && is(c.TimeoutExitCode, 152) &&
		flag(c.StaggeredStart, true) && flag(c.LimitResources, true) && is(c.SigtermLeadSecs, 30) && is(c.OOMExitCode, 137) &&
		(c.TerminationSignal == "" || strings.TrimPrefix(c.TerminationSignal, "SIG") == "TERM") &&
		c.SrunTerminationSignal == "" && c.SrunMPI == "" && flag(c.EnableCPUBind, false) &&
		(c.Stdio == nil || c.Stdio.Mode == workflow.StdioSeparate && flag(c.Stdio.DeleteOnSuccess, false))
}

// checkMode checks which keys are allowed in which mode.
func checkMode(r *report, doc *Document) {
	e := doc.ExecutionConfig
	mode := e.Mode
	if mode == "" {
		mode = "direct"
	}
	checkWorkerPerNode(r, doc.Actions, mode)
	effective := mode
	if mode == "auto" {
		effective = "direct"
		if len(doc.SlurmSchedulers) > 0 {
			effective = "slurm"
		}
	}
	only := map[string][]string{
		"direct": {"termination_signal", "sigterm_lead_seconds", "oom_exit_code"},
		"slurm":  {"srun_termination_signal"},
	}
	for needed, keys := range only {
		for _, key := range keys {
			if c := e.at.child(key); c != nil && c.kind != kindNull && effective != needed {
				r.failKey(c, "remove it or use mode: "+needed, "%s needs the mode %s, but the mode is %s", key, needed, effective)
			}
		}
	}
	if effective == "slurm" && e.LimitResources != nil && !*e.LimitResources {
		r.fail(e.at.get("limit_resources"), "remove it: Slurm enforces the limits of its steps", "limit_resources: false needs the mode direct, but the mode is slurm")
	}
	if effective == "direct" && e.EnableCPUBind != nil && *e.EnableCPUBind {
		r.fail(e.at.get("enable_cpu_bind"), "remove it or use mode: slurm", "enable_cpu_bind: true needs the mode slurm, but the mode is direct")
	}
	if e.SrunMPI == "" {
		return
	}
	perNode := slices.ContainsFunc(doc.Actions, func(a *Action) bool { return a.StartOneWorkerPerNode })
	switch at := e.at.get("srun_mpi"); {
	case !mpiToken.MatchString(e.SrunMPI):
		r.fail(at, "use letters, digits, + _ . and -, for example pmix", "%s is not an MPI type of srun", clip(e.SrunMPI))
	case effective != "direct":
		r.fail(at, "remove it or use mode: direct", "srun_mpi needs the mode direct, but the mode is %s", effective)
	case !perNode:
		r.fail(at, "add start_one_worker_per_node: true to an action, or remove it", "srun_mpi needs an action with start_one_worker_per_node")
	}
}

// checkWorkerPerNode checks the mode: one runner per node starts processes itself.
func checkWorkerPerNode(r *report, actions []*Action, mode string) {
	for _, a := range actions {
		if a.StartOneWorkerPerNode && mode != "direct" {
			r.fail(a.at.get("start_one_worker_per_node"), "set execution_config.mode to direct", "start_one_worker_per_node needs the mode direct, but the mode is %s", mode)
		}
	}
}

// overrideStdio applies job_stdio_overrides to jobs. If any job has stdio, that key has no
// effect at all.
func (b *builder) overrideStdio() {
	e := b.doc.ExecutionConfig
	if e == nil {
		return
	}
	at := e.at.get("job_stdio_overrides")
	if len(e.JobStdioOverrides) > 0 && slices.ContainsFunc(b.doc.Jobs, func(j *Job) bool { return j.Stdio != nil }) {
		b.warnKey(at, "give those jobs a stdio as well", "job_stdio_overrides has no effect when a job has stdio")
		return
	}
	for name, s := range e.JobStdioOverrides {
		i, ok := b.parts.jobs.byName[name]
		if !ok {
			b.warnKey(at.get(name), "", "there is no job named %s", clip(name))
			continue
		}
		b.def.Jobs[i].Stdio = stdioConfig(s)
	}
}

// readMonitor reads resource_monitor. Without one, jobs are measured unless off is set.
func readMonitor(r *report, m *ResourceMonitor, off bool) *workflow.ResourceMonitorConfig {
	c := &workflow.ResourceMonitorConfig{Granularity: "summary", SampleIntervalSeconds: defaultSampleInterval, FlushIntervalSeconds: defaultFlushInterval}
	if m == nil {
		if off {
			return nil
		}
		c.Enabled = true
		c.Jobs = &workflow.JobMonitorConfig{Enabled: true, Granularity: "summary"}
		return c
	}
	c.Enabled, c.GeneratePlots = m.Enabled, m.GeneratePlots
	c.Granularity = granularity(m.Granularity)
	if m.SampleIntervalSeconds != nil {
		c.SampleIntervalSeconds = *m.SampleIntervalSeconds
	}
	if m.FlushIntervalSeconds != nil {
		c.FlushIntervalSeconds = *m.FlushIntervalSeconds
	}
	if m.Jobs != nil {
		c.Jobs = &workflow.JobMonitorConfig{Enabled: m.Jobs.Enabled, Granularity: granularity(m.Jobs.Granularity)}
	}
	if n := m.ComputeNode; n != nil {
		c.ComputeNode = &workflow.NodeMonitorConfig{Enabled: n.Enabled, Granularity: granularity(n.Granularity), CPU: n.CPU == nil || *n.CPU, Memory: n.Memory == nil || *n.Memory}
	}
	if m.Jobs != nil && m.at.child("enabled") != nil && m.Enabled != m.Jobs.Enabled {
		r.warnKey(m.at.get("enabled"), "set enabled in the jobs block", "enabled has no effect if there is a jobs block")
	}
	if !c.Enabled && (c.Jobs == nil || !c.Jobs.Enabled) && (c.ComputeNode == nil || !c.ComputeNode.Enabled) && m.at.child("enabled") == nil {
		r.warn(m.at, "add jobs: {enabled: true}, or enabled: false if this is intended", "nothing is measured: no block is enabled")
	}
	return c
}

func granularity(text string) string {
	if text == "" {
		return "summary"
	}
	return text
}
