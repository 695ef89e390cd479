package slurmtest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// sacctmgr answers show associations, qos and user.
func (c *Cluster) sacctmgr(args []string) slurm.Output {
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
		rows = c.associationRows(words)
	case "qos":
		rows = c.qosRows()
	case "user":
		rows = []map[string]string{{"User": c.opts.User, "DefaultAccount": DefaultAccount}}
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

func (c *Cluster) associationRows(words []string) []map[string]string {
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "user=") && w != "user="+c.opts.User }) {
		return nil
	}
	var rows []map[string]string
	for _, account := range slices.Sorted(maps.Keys(c.opts.Accounts)) {
		qos := c.opts.Accounts[account]
		rows = append(rows, map[string]string{"Cluster": c.opts.Name, "Account": account, "User": c.opts.User, "QOS": qos})
	}
	return rows
}

func (c *Cluster) qosRows() []map[string]string {
	rows := []map[string]string{{"Name": "normal", "Priority": "0", "PreemptMode": "cluster"}}
	for _, name := range slices.Sorted(maps.Keys(c.opts.QOS)) {
		limits := c.opts.QOS[name]
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
