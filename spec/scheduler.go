package spec

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// readSchedulers reads the Slurm schedulers of a document, and records their names.
func readSchedulers(x *names, items []*SlurmScheduler) []workflow.SlurmSchedulerDefinition {
	var all []workflow.SlurmSchedulerDefinition
	for _, s := range items {
		if s.Name == "" {
			x.warn(s.at, "give it a name", "a slurm_scheduler without a name is left out")
			continue
		}
		x.add(len(all), s.at, s.Name)
		d := workflow.SlurmSchedulerDefinition{
			Name: s.Name, Account: s.Account, Gres: s.Gres, Mem: s.Mem, Nodes: 1, NtasksPerNode: s.NtasksPerNode, Partition: s.Partition,
			QOS: s.QOS, Tmp: s.Tmp, Walltime: defaultWalltime, Extra: s.Extra, SerializeAllocations: s.SerializeAllocations,
		}
		if s.Nodes != nil {
			d.Nodes = *s.Nodes
		}
		if s.Walltime != "" {
			d.Walltime = s.Walltime
		}
		all = append(all, d)
	}
	return all
}

// forbiddenDefaults are sbatch options that belong to a slurm_scheduler.
var forbiddenDefaults = []string{"partition", "nodes", "walltime", "time", "mem", "gres", "name", "job-name"}

// slurmDefaults checks the sbatch options for all allocations.
func slurmDefaults(r *report, doc *Document) json.RawMessage {
	at := doc.at.child("slurm_defaults")
	if at == nil || at.kind == kindNull {
		return nil
	}
	if at.kind != kindMap {
		r.fail(at, "write sbatch options, for example {qos: high}", "expected a map, found %s", at.kind.article())
		return nil
	}
	for _, c := range at.items {
		switch {
		case slices.Contains(forbiddenDefaults, strings.ReplaceAll(strings.ToLower(c.key), "_", "-")):
			r.failKey(c, "give it to the slurm_schedulers", "%s is not allowed in slurm_defaults", c.key)
		case c.kind == kindNull || c.kind > kindString:
			r.warn(c, "use a string, number, or true or false", "the option %s is skipped: it is %s", c.key, c.kind.article())
		}
	}
	return doc.SlurmDefaults
}

// placementCheck checks whether jobs fit into the allocations of their schedulers.
type placementCheck struct {
	*report
	def   *workflow.Definition
	parts *parts
}

// checkNodes checks that a job of a scheduler with several nodes runs on one node or on
// all.
func (c *placementCheck) checkNodes(actions []*Action) {
	for _, a := range actions {
		if a.ActionType != "schedule_nodes" || a.SchedulerType != "slurm" {
			continue
		}
		s := c.schedulerNamed(a.Scheduler)
		if s == nil || s.Nodes <= 1 {
			continue
		}
		for i := range c.def.Jobs {
			j := &c.def.Jobs[i]
			r := c.requirementsNamed(j.Requirements)
			if j.Scheduler != s.Name || r == nil || r.NumNodes <= 1 || r.NumNodes == s.Nodes {
				continue
			}
			c.fail(c.parts.jobs.origin(int32(i)).get("resource_requirements"), "use num_nodes 1 or as many as the scheduler has",
				"the job needs %d nodes, the allocations of its scheduler %s have %d", r.NumNodes, s.Name, s.Nodes)
		}
	}
}

func (c *placementCheck) schedulerNamed(name string) *workflow.SlurmSchedulerDefinition {
	if i, ok := c.parts.schedulers.index[name]; ok {
		return &c.def.SlurmSchedulers[i]
	}
	return nil
}

func (c *placementCheck) requirementsNamed(name string) *workflow.ResourceRequirements {
	if i, ok := c.parts.requirements.index[name]; ok {
		return &c.def.Requirements[i]
	}
	return nil
}

// room is what an allocation of a scheduler offers; negative means unlimited.
type room struct {
	seconds, memory, gpus int64
}

// checkRoom checks that a job fits into an allocation of its scheduler, or without one, of
// any scheduler. A misfit is a doubt, since a scheduler may be changed later.
func (c *placementCheck) checkRoom() {
	if len(c.def.SlurmSchedulers) == 0 {
		return
	}
	rooms := make([]room, len(c.def.SlurmSchedulers))
	for i := range rooms {
		rooms[i] = c.roomOf(i)
	}
	checked := map[[2]string]bool{}
	for i := range c.def.Jobs {
		j := &c.def.Jobs[i]
		pair := [2]string{j.Requirements, j.Scheduler}
		r := c.requirementsNamed(j.Requirements)
		if r == nil || checked[pair] {
			continue
		}
		checked[pair] = true
		c.checkFit(c.parts.jobs.origin(int32(i)), j, r, rooms)
	}
}

// checkFit checks one combination of requirements and scheduler.
func (c *placementCheck) checkFit(at *node, j *workflow.JobDefinition, r *workflow.ResourceRequirements, rooms []room) {
	var misfits []string
	for k := range rooms {
		s := &c.def.SlurmSchedulers[k]
		if j.Scheduler != "" && j.Scheduler != s.Name {
			continue
		}
		misfit := rooms[k].misfit(r, s)
		if misfit == "" {
			return
		}
		misfits = append(misfits, misfit)
	}
	where := at.get("resource_requirements")
	switch {
	case len(misfits) == 0: // the scheduler is unknown, which was already reported
	case j.Scheduler != "":
		c.doubt(where, "enlarge the scheduler or lower the requirements", "the requirements %s do not fit into the scheduler %s: %s", r.Name, j.Scheduler, misfits[0])
	default:
		c.doubt(where, "add a scheduler, enlarge one, or lower the requirements", "the requirements %s fit into no slurm_scheduler: %s", r.Name, strings.Join(misfits, "; "))
	}
}

// misfit returns why requirements do not fit; empty if they do.
func (o room) misfit(r *workflow.ResourceRequirements, s *workflow.SlurmSchedulerDefinition) string {
	runtime, err1 := workflow.ParseRuntime(r.Runtime)
	memory, err2 := workflow.ParseMemory(r.Memory)
	switch {
	case err1 != nil || err2 != nil:
		return "" // already reported
	case o.seconds >= 0 && runtime > o.seconds:
		return "runtime " + r.Runtime + " is longer than the walltime " + s.Walltime + " of " + s.Name
	case o.memory >= 0 && memory > o.memory:
		return "memory " + r.Memory + " is more than the mem " + s.Mem + " of " + s.Name
	case o.gpus >= 0 && r.NumGPUs > o.gpus:
		return strconv.FormatInt(r.NumGPUs, 10) + " GPUs are more than the gres " + s.Gres + " of " + s.Name
	}
	return ""
}

// roomOf returns what the i-th scheduler offers, and reports invalid values.
func (c *placementCheck) roomOf(i int) room {
	s := &c.def.SlurmSchedulers[i]
	at := c.parts.schedulers.first[s.Name]
	o := room{seconds: -1, memory: -1, gpus: -1}
	if seconds, ok := parseWalltime(s.Walltime); ok {
		o.seconds = seconds
	} else {
		c.doubt(at.get("walltime"), "write HH:MM:SS, D-HH:MM:SS or minutes", "%s is not a walltime", clip(s.Walltime))
	}
	if s.Mem != "" {
		if memory, ok := parseSlurmMemory(s.Mem); ok {
			o.memory = memory
		} else {
			c.doubt(at.get("mem"), "write a whole number with an optional K, M, G or T", "%s is not an amount of memory", clip(s.Mem))
		}
	}
	if s.Gres != "" {
		o.gpus = gresGPUs(s.Gres)
	}
	return o
}

var walltime = regexp.MustCompile(`^(?:(\d{1,5})-(\d{1,5})(?::(\d{1,5})(?::(\d{1,5}))?)?|(\d{1,5}):(\d{1,5}):(\d{1,5})|(\d{1,7})(?::(\d{1,5}))?)$`)

// parseWalltime reads a time limit in Slurm's formats: minutes, minutes:seconds,
// hours:minutes:seconds, days-hours and so on. UNLIMITED is -1.
func parseWalltime(text string) (seconds int64, ok bool) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, "UNLIMITED") || strings.EqualFold(text, "INFINITE") {
		return -1, true
	}
	m := walltime.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	units := []int64{86400, 3600, 60, 1, 3600, 60, 1, 60, 1}
	for i, u := range units {
		n, _ := strconv.ParseInt(m[i+1], 10, 64) // digits, or empty for 0
		seconds += n * u
	}
	return seconds, true
}

// parseSlurmMemory reads --mem: megabytes by default; 0 is a whole node.
func parseSlurmMemory(text string) (int64, bool) {
	text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), "B"), "b")
	if text == "0" {
		return -1, true
	}
	if text != "" && text[len(text)-1] >= '0' && text[len(text)-1] <= '9' {
		text += "m"
	}
	n, err := workflow.ParseMemory(text)
	return n, err == nil
}

var gres = regexp.MustCompile(`(?i)^(?:gres/)?gpu(?::[^:()]+?)??(?::(\d+))?(?:\([^)]*\))?$`)

// gresGPUs returns the GPUs of a --gres; 0 if it is not understood.
func gresGPUs(text string) int64 {
	total := int64(0)
	for part := range strings.SplitSeq(text, ",") {
		m := gres.FindStringSubmatch(strings.TrimSpace(part))
		switch {
		case m == nil:
		case m[1] == "":
			total++
		default:
			n, _ := strconv.ParseInt(m[1], 10, 32)
			total += n
		}
	}
	return total
}
