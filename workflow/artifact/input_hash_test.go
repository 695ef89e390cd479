package artifact_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

func TestInputHash(t *testing.T) {
	base := func() artifact.HashInput {
		return artifact.HashInput{
			Command: "run", Env: map[string]string{"A": "1", "B": "2"}, DependsOn: []int64{1, 2}, InputFiles: []int64{3},
			OutputFiles: []int64{4}, InputUserData: []int64{5, 6},
			InputData: []artifact.UserDataContent{{5, json.RawMessage(`{"x":1,"y":[1,2]}`)}, {6, nil}},
		}
	}
	hash := artifact.InputHash(base())
	if len(hash) != 64 {
		t.Fatalf("hash %q", hash)
	}
	same := map[string]func(*artifact.HashInput){
		"empty script":        func(in *artifact.HashInput) { in.InvocationScript = new("") },
		"order of ids":        func(in *artifact.HashInput) { in.DependsOn = []int64{2, 1} },
		"order of keys":       func(in *artifact.HashInput) { in.InputData[0].Data = json.RawMessage(`{"y": [1, 2], "x": 1}`) },
		"null data":           func(in *artifact.HashInput) { in.InputData[1].Data = json.RawMessage("null") },
		"order of user data":  func(in *artifact.HashInput) { in.InputData[0], in.InputData[1] = in.InputData[1], in.InputData[0] },
		"empty list for none": func(in *artifact.HashInput) { in.OutputUserData = []int64{} },
	}
	for name, change := range same {
		in := base()
		change(&in)
		if artifact.InputHash(in) != hash {
			t.Errorf("%s changes the hash", name)
		}
	}
	different := map[string]func(*artifact.HashInput){
		"command":               func(in *artifact.HashInput) { in.Command = "run2" },
		"script":                func(in *artifact.HashInput) { in.InvocationScript = new("x") },
		"value of a variable":   func(in *artifact.HashInput) { in.Env["A"] = "2" },
		"name of a variable":    func(in *artifact.HashInput) { delete(in.Env, "B"); in.Env["C"] = "2" },
		"one dependency less":   func(in *artifact.HashInput) { in.DependsOn = []int64{1} },
		"file in for out":       func(in *artifact.HashInput) { in.InputFiles, in.OutputFiles = in.OutputFiles, in.InputFiles },
		"user data out":         func(in *artifact.HashInput) { in.OutputUserData = []int64{7} },
		"value of user data":    func(in *artifact.HashInput) { in.InputData[0].Data = json.RawMessage(`{"x":1,"y":[2,1]}`) },
		"large number":          func(in *artifact.HashInput) { in.InputData[1].Data = json.RawMessage("9007199254740993") },
		"large number, one off": func(in *artifact.HashInput) { in.InputData[1].Data = json.RawMessage("9007199254740992") },
		"not JSON":              func(in *artifact.HashInput) { in.InputData[1].Data = json.RawMessage("{") },
	}
	seen := map[string]string{hash: "nothing"}
	for name, change := range different {
		in := base()
		change(&in)
		h := artifact.InputHash(in)
		if other, there := seen[h]; there {
			t.Errorf("%s gives the same hash as %s", name, other)
		}
		seen[h] = name
	}
}

func TestInputHashDoesNotChangeItsInput(t *testing.T) {
	in := artifact.HashInput{DependsOn: []int64{2, 1}, InputData: []artifact.UserDataContent{{ID: 2}, {ID: 1}}}
	artifact.InputHash(in)
	if in.DependsOn[0] != 2 || in.InputData[0].ID != 2 {
		t.Errorf("changed: %+v", in)
	}
}

func BenchmarkInputHash(b *testing.B) {
	env := map[string]string{}
	for i := range 5 {
		env[fmt.Sprint("V", i)] = "value"
	}
	in := artifact.HashInput{Command: "bash ./sim.sh --case 17", Env: env, DependsOn: []int64{1, 2, 3}}
	for b.Loop() {
		artifact.InputHash(in)
	}
}
