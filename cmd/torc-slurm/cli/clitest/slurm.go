package clitest

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// recordings are answers of a cluster, Slurm 22.05.8, by a part of the call's arguments.
var recordings = []struct{ arguments, name string }{
	{"show config", "config"}, {"show partition", "partitions"}, {"--exact", "nodes"},
	{"show user", "user"}, {"show associations", "associations"}, {"show qos", "qos"},
}

// Slurm makes a case one on a cluster, torctest, that says what it offers and takes
// nothing.
func Slurm(t T, c Case) Case {
	t.Helper()
	var script strings.Builder
	script.WriteString("#!/bin/sh\ncase \"$*\" in\n")
	files := map[string]string{}
	for _, r := range recordings {
		text, err := os.ReadFile(filepath.Join("../../../site-configs/testdata/torctest", r.name+".txt"))
		if err != nil {
			t.Fatalf("%v", err)
		}
		answer := string(text)
		if r.name == "nodes" {
			answer = strings.ReplaceAll(answer, "|", "\x1f") // as they are asked for
		}
		files["slurm/"+r.name+".txt"] = answer
		script.WriteString("*'" + r.arguments + "'*) exec cat \"${0%/*}/" + r.name + ".txt\" ;;\n")
	}
	script.WriteString("*) echo 'slurm_load: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;\nesac\n")
	for _, name := range []string{"scontrol", "sinfo", "sacctmgr"} {
		files["slurm/"+name] = script.String()
		c.Environ = append(c.Environ, "TORC_FAKE_"+strings.ToUpper(name)+"=$DIR/slurm/"+name)
	}
	maps.Copy(files, c.Files)
	c.Files = files
	return c
}
