package requirements

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const big = `{"id":3,"workflow_id":12,"name":"big","num_cpus":16,"num_gpus":0,"num_nodes":1,"memory":"64g","runtime":"PT4H"}`

// wrong is a case of wrong usage that asks the server for nothing.
func wrong(args, message string) clitest.Case {
	return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
}

func TestChange(t *testing.T) {
	routes := clitest.Routes{
		"POST /resource_requirements": {Body: big}, "GET /resource_requirements/3": {Body: big},
		"PUT /resource_requirements/3": {Body: big}, "DELETE /resource_requirements/3": {Body: big},
	}
	clitest.Check(t, New,
		wrong("resource-requirements create 12", `required flag(s) "name" not set`),
		wrong("resource-requirements create 12 -n big --num-cpus 0", "0 CPUs: at least 1"),
		wrong("resource-requirements create 12 -n big --num-gpus -1", "-1 GPUs: at least 0"),
		wrong("resource-requirements create 12 -n big --num-nodes 0", "0 nodes: at least 1"),
		wrong("resource-requirements update 3", "at least one of the flags in the group [name num-cpus num-gpus num-nodes memory runtime] is required"),
		wrong("resource-requirements update x -m 1g", `"x" is not the id of a resource requirements record: ids are numbers from 1`),
		clitest.Case{Args: "resource-requirements create 12 -n big --num-cpus 16 -m 64g", Routes: routes, Want: clitest.Result{
			Stdout:   "Created resource requirements 3\n",
			Requests: []string{`POST /resource_requirements {"workflow_id":12,"name":"big","num_cpus":16,"memory":"64g"}`}}},
		clitest.Case{Args: "resource-requirements update 3 --num-gpus 0 -r PT8H", Routes: routes, Want: clitest.Result{
			Stdout: "Updated resource requirements 3\n", Requests: []string{"GET /resource_requirements/3",
				`PUT /resource_requirements/3 {"id":3,"workflow_id":12,"name":"big","num_cpus":16,"num_gpus":0,"num_nodes":1,"memory":"64g","runtime":"PT8H"}`}}},
		clitest.Case{Args: "resource-requirements delete 3", Routes: routes, Want: clitest.Result{
			Stdout: "Deleted resource requirements 3\n", Requests: []string{"DELETE /resource_requirements/3"}}},
		clitest.Case{
			Args:   "resource-requirements delete 4 -f json",
			Routes: clitest.Routes{"DELETE /resource_requirements/4": {Status: 409, Body: `{"error":{"error":"Conflict","message":"jobs have it"}}`}},
			Want: clitest.Result{Status: cli.ExitRefused, Stderr: "{\n  \"status\": \"error\",\n  \"message\": \"jobs have it\",\n  \"exit_status\": 5\n}\n",
				Requests: []string{"DELETE /resource_requirements/4"}},
		},
	)
}

func TestShow(t *testing.T) {
	list := func(items string) clitest.Routes {
		return clitest.Routes{"GET /resource_requirements": {Body: `{"items":[` + items + `],"has_more":false}`}}
	}
	clitest.Check(t, New,
		clitest.Case{Args: "resource-requirements list 12 --sort-by memory_bytes --reverse-sort", Routes: list(big), Want: clitest.Result{
			Stdout: `╭────┬──────┬──────┬──────┬───────┬────────┬─────────╮
│ ID │ Name │ CPUs │ GPUs │ Nodes │ Memory │ Runtime │
├────┼──────┼──────┼──────┼───────┼────────┼─────────┤
│ 3  │ big  │ 16   │ 0    │ 1     │ 64g    │ PT4H    │
╰────┴──────┴──────┴──────┴───────┴────────┴─────────╯
Total: 1 resource requirements
`, Requests: []string{"GET /resource_requirements?reverse_sort=true&sort_by=memory_bytes&workflow_id=12"}}},
		clitest.Case{Args: "resource-requirements list 12 -f csv", Routes: list(""), Want: clitest.Result{
			Stdout: "ID,Name,CPUs,GPUs,Nodes,Memory,Runtime\n", Requests: []string{"GET /resource_requirements?workflow_id=12"}}},
		wrong("resource-requirements list 12 --sort-by size", "--sort-by size: the fields are id, name, num_cpus, num_gpus, num_nodes, memory, runtime, memory_bytes, runtime_s"),
		clitest.Case{Args: "resource-requirements get 3", Routes: clitest.Routes{"GET /resource_requirements/3": {Body: big}}, Want: clitest.Result{
			Stdout:   "ID:        3\nWorkflow:  12\nName:      big\nCPUs:      16\nGPUs:      0\nNodes:     1\nMemory:    64g\nRuntime:   PT4H\n",
			Requests: []string{"GET /resource_requirements/3"}}},
	)
}
