package slurmtest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// sacctmgr shows who may do what.
type sacctmgr struct {
	cluster, user string            // names
	accounts      map[string]string // to the QOS of their jobs
	qos           map[string]Limits
}

// run answers show associations, qos and user.
func (s sacctmgr) run(args []string) slurm.Output {
	_, words := options(args, nil)
	var columns []string
	for _, word := range words {
		if list, ok := strings.CutPrefix(word, "format="); ok {
			columns = strings.Split(list, ",")
		}
	}
	if len(words) < 2 || words[0] != "show" || columns == nil {
		return refusal("sacctmgr: the fake cluster answers show with format= only")
	}
	var rows []map[string]string
	switch words[1] {
	case "associations":
		rows = s.associationRows(words)
	case "qos":
		rows = s.qosRows()
	case "user":
		rows = []map[string]string{{"User": s.user, "DefaultAccount": DefaultAccount}}
	default:
		return refusal("sacctmgr: unknown entity " + words[1])
	}
	var out strings.Builder
	out.WriteString(strings.Join(columns, "|") + "\n")
	for _, row := range rows {
		fields := make([]string, len(columns))
		for i, column := range columns {
			fields[i] = row[column]
		}
		out.WriteString(strings.Join(fields, "|") + "\n")
	}
	return slurm.Output{Stdout: []byte(out.String())}
}

func (s sacctmgr) associationRows(words []string) []map[string]string {
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "user=") && w != "user="+s.user }) {
		return nil
	}
	var rows []map[string]string
	for _, account := range slices.Sorted(maps.Keys(s.accounts)) {
		qos := s.accounts[account]
		rows = append(rows, map[string]string{"Cluster": s.cluster, "Account": account, "User": s.user, "QOS": qos})
	}
	return rows
}

func (s sacctmgr) qosRows() []map[string]string {
	rows := []map[string]string{{"Name": "normal", "Priority": "0", "PreemptMode": "cluster"}}
	for _, name := range slices.Sorted(maps.Keys(s.qos)) {
		limits := s.qos[name]
		row := map[string]string{"Name": name, "Priority": "0", "PreemptMode": "cluster"}
		if limits.MaxJobsPerUser > 0 {
			row["MaxJobsPU"] = strconv.Itoa(limits.MaxJobsPerUser)
		}
		if limits.MaxSubmitPerUser > 0 {
			row["MaxSubmitPU"] = strconv.Itoa(limits.MaxSubmitPerUser)
		}
		if limits.MaxWall > 0 {
			row["MaxWall"] = slurm.FormatDuration(limits.MaxWall)
		}
		rows = append(rows, row)
	}
	return rows
}
