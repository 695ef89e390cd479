package spec

import (
	"reflect"
	"strings"
)

// foreignKeys says what to write instead of keys of other workflow systems, which users try first.
var foreignKeys = map[reflect.Type]map[string]string{
	reflect.TypeFor[Document](): hints(
		"write the list of jobs as jobs: [{name: a, command: …}]", "tasks", "steps", "rules", "processes", "rule", "process",
		"write parameters: {i: \"1:100\"}, and use_parameters: [i] in the jobs that use them", "params", "matrix", "sweep", "axes",
		"write env: {NAME: value}", "environment", "envvars", "env_vars",
		"write slurm_schedulers: [{name: s, account: …, partition: …}], or leave it out: submit finds a partition", "slurm", "scheduler", "partition", "queue", "account",
		"write resource_requirements: [{name: small, num_cpus: 2, memory: 4g, runtime: PT1H}], and resource_requirements: small in jobs", "resources", "requirements",
	),
	reflect.TypeFor[Job](): hints(
		"write command: …", "cmd", "run", "script", "exec", "shell", "commands", "executable",
		"write resource_requirements: small in the job, and resource_requirements: [{name: small, num_cpus: 2, memory: 4g, runtime: PT1H, num_gpus: 0}] at the top level",
		"num_cpus", "cpus", "ncpus", "n_cpus", "cores", "threads", "cpus_per_task", "memory", "mem", "ram", "runtime", "time", "walltime", "time_limit",
		"num_gpus", "gpus", "gpu", "num_nodes", "nodes", "ntasks", "resources", "requirements",
		"write a retry policy: retry_policies: [{name: again, rules: [{id: exit, when: {exit_code: {in: [1]}}, action: retry, limit: 3}]}]; out of memory, timeouts and lost nodes are retried without one",
		"retries", "retry", "max_retries", "attempts", "max_attempts",
		"write timeouts: {run: {after: PT1H}}", "timeout",
		"write depends_on: [a, b]", "depends", "dependencies", "deps", "needs", "requires", "after", "dependency",
		"write input_files: [name], and files: [{name: name, path: …}] at the top level", "inputs", "input", "in",
		"write output_files: [name], and files: [{name: name, path: …}] at the top level", "outputs", "output", "out",
		"write env: {NAME: value}", "environment", "envvars", "env_vars",
		"write parameters: {i: \"1:100\"}, and {i} in name and command", "params", "matrix", "sweep", "array", "foreach", "for_each",
		"write it in the command: cd FOLDER && …", "cwd", "workdir", "dir", "directory", "working_directory", "chdir",
		"write scheduler: NAME, and slurm_schedulers: [{name: NAME, account: …, partition: …}] at the top level", "partition", "queue", "account", "qos",
	),
	reflect.TypeFor[ResourceRequirements](): hints(
		"write num_cpus: 2", "cpus", "ncpus", "n_cpus", "cores", "threads", "cpus_per_task",
		"write memory: 4g", "mem", "ram",
		"write num_gpus: 1", "gpus", "gpu", "ngpus",
		"write num_nodes: 2", "nodes", "nnodes",
		"write runtime: PT1H", "time", "walltime", "time_limit", "timeout", "duration",
	),
	reflect.TypeFor[SlurmScheduler](): hints(
		"write walltime: \"01:00:00\"", "time", "time_limit", "runtime", "timelimit",
		"write partition: …", "queue",
		"write mem: 4G, per node", "memory",
		"write gres: gpu:1", "gpus", "num_gpus",
		"write it as an option of sbatch: extra: \"--cpus-per-task=4\"", "cpus", "cpus_per_task", "num_cpus", "constraint", "reservation", "exclude", "options", "args",
	),
}

// hints returns the hint of each key. Each hint is followed by the keys that it is for; a hint has
// blanks, and a key has none.
func hints(texts ...string) map[string]string {
	of := map[string]string{}
	hint := ""
	for _, text := range texts {
		if strings.Contains(text, " ") {
			hint = text
		} else {
			of[text] = hint
		}
	}
	return of
}
