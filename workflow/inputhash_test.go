package workflow_test

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestInputHash(t *testing.T) {
	base := func() HashInput {
		return HashInput{
			Command: "run", Env: map[string]string{"A": "1", "B": "2"}, DependsOn: []int64{1, 2}, InputFiles: []int64{3},
			OutputFiles: []int64{4}, InputUserData: []int64{5, 6},
			InputData: []UserDataContent{{5, json.RawMessage(`{"x":1,"y":[1,2]}`)}, {6, nil}},
		}
	}
	hash := InputHash(base())
	if len(hash) != 64 {
		t.Fatalf("hash %q", hash)
	}
	same := map[string]func(*HashInput){
		"empty script":        func(in *HashInput) { in.InvocationScript = ptr("") },
		"order of ids":        func(in *HashInput) { in.DependsOn = []int64{2, 1} },
		"order of keys":       func(in *HashInput) { in.InputData[0].Data = json.RawMessage(`{"y": [1, 2], "x": 1}`) },
		"null data":           func(in *HashInput) { in.InputData[1].Data = json.RawMessage("null") },
		"order of user data":  func(in *HashInput) { in.InputData[0], in.InputData[1] = in.InputData[1], in.InputData[0] },
		"empty list for none": func(in *HashInput) { in.OutputUserData = []int64{} },
	}
	for name, change := range same {
		in := base()
		change(&in)
		if InputHash(in) != hash {
			t.Errorf("%s changes the hash", name)
		}
	}
	different := map[string]func(*HashInput){
		"command":               func(in *HashInput) { in.Command = "run2" },
		"script":                func(in *HashInput) { in.InvocationScript = ptr("x") },
		"value of a variable":   func(in *HashInput) { in.Env["A"] = "2" },
		"name of a variable":    func(in *HashInput) { delete(in.Env, "B"); in.Env["C"] = "2" },
		"one dependency less":   func(in *HashInput) { in.DependsOn = []int64{1} },
		"file in for out":       func(in *HashInput) { in.InputFiles, in.OutputFiles = in.OutputFiles, in.InputFiles },
		"user data out":         func(in *HashInput) { in.OutputUserData = []int64{7} },
		"value of user data":    func(in *HashInput) { in.InputData[0].Data = json.RawMessage(`{"x":1,"y":[2,1]}`) },
		"large number":          func(in *HashInput) { in.InputData[1].Data = json.RawMessage("9007199254740993") },
		"large number, one off": func(in *HashInput) { in.InputData[1].Data = json.RawMessage("9007199254740992") },
		"not JSON":              func(in *HashInput) { in.InputData[1].Data = json.RawMessage("{") },
	}
	seen := map[string]string{hash: "nothing"}
	for name, change := range different {
		in := base()
		change(&in)
		h := InputHash(in)
		if other, there := seen[h]; there {
			t.Errorf("%s gives the same hash as %s", name, other)
		}
		seen[h] = name
	}
}

func TestInputHashDoesNotChangeItsInput(t *testing.T) {
	in := HashInput{DependsOn: []int64{2, 1}, InputData: []UserDataContent{{ID: 2}, {ID: 1}}}
	InputHash(in)
	if in.DependsOn[0] != 2 || in.InputData[0].ID != 2 {
		t.Errorf("changed: %+v", in)
	}
}

func BenchmarkInputHash(b *testing.B) {
	env := map[string]string{}
	for i := range 5 {
		env[fmt.Sprint("V", i)] = "value"
	}
	in := HashInput{Command: "bash ./sim.sh --case 17", Env: env, DependsOn: []int64{1, 2, 3}}
	for b.Loop() {
		InputHash(in)
	}
}
