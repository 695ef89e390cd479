package graphcmd

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func writeText(w io.Writer, d *drawing) {
	fmt.Fprintf(w, "%s: %s\n", cli.Printable(d.Name), workflow.CountOf(int64(d.Jobs), "job", "jobs"))
	level := int32(-1)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Level != level {
			level = n.Level
			fmt.Fprintf(w, "\nStep %d\n", level+1)
		}
		line := "  " + cli.Printable(n.label())
		if counts := n.counts(); counts != "" {
			line += ": " + counts
		}
		fmt.Fprintln(w, line)
		var after []string
		for _, on := range n.After {
			after = append(after, d.Nodes[on].Family)
		}
		if len(after) > 0 {
			fmt.Fprintf(w, "    after %s\n", cli.Printable(strings.Join(after, ", ")))
		}
	}
}

func writeDot(w io.Writer, d *drawing) {
	quote := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(cli.Printable(text)) + `"`
	}
	fmt.Fprintf(w, "digraph %s {\n  rankdir=LR\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"]\n", quote(d.Name))
	for i := range d.Nodes {
		n := &d.Nodes[i]
		label := quote(n.label())
		if counts := n.counts(); counts != "" {
			label = strings.TrimSuffix(label, `"`) + `\n` + counts + `"`
		}
		fmt.Fprintf(w, "  n%d [label=%s, fillcolor=%q]\n", i, label, n.color())
	}
	for i := range d.Nodes {
		for _, on := range d.Nodes[i].After {
			fmt.Fprintf(w, "  n%d -> n%d\n", on, i)
		}
	}
	fmt.Fprintln(w, "}")
}

func writeMermaid(w io.Writer, d *drawing) {
	text := func(s string) string { // entities, as quotes and brackets have a meaning
		var b strings.Builder
		for _, r := range cli.Printable(s) {
			if strings.ContainsRune("\"#<>&[](){}|`", r) {
				fmt.Fprintf(&b, "#%d;", r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	fmt.Fprintln(w, "flowchart LR")
	for i := range d.Nodes {
		n := &d.Nodes[i]
		label := text(n.label())
		if counts := n.counts(); counts != "" {
			label += "<br/>" + text(counts)
		}
		fmt.Fprintf(w, "  n%d[\"%s\"]\n", i, label)
		if n.Statuses != nil {
			fmt.Fprintf(w, "  style n%d fill:%s\n", i, n.color())
		}
	}
	for i := range d.Nodes {
		for _, on := range d.Nodes[i].After {
			fmt.Fprintf(w, "  n%d --> n%d\n", on, i)
		}
	}
}

// The sizes of a drawing in pixels.
const (
	boxWidth, boxHeight   = 200, 46
	gapX, gapY, margin    = 70, 18, 16
	barHeight, mostLetter = 6, 26
)

func writeSVG(w io.Writer, d *drawing) {
	rows, most := make([]int, d.Levels), 1
	type spot struct{ x, y int }
	spots := make([]spot, len(d.Nodes))
	for i := range d.Nodes {
		level := d.Nodes[i].Level
		spots[i] = spot{margin + int(level)*(boxWidth+gapX), margin + rows[level]*(boxHeight+gapY)}
		rows[level]++
		most = max(most, rows[level])
	}
	width, height := 2*margin+max(int(d.Levels), 1)*(boxWidth+gapX)-gapX, 2*margin+most*(boxHeight+gapY)-gapY
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(w, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", html.EscapeString(cli.Printable(d.Name)))
	for i := range d.Nodes {
		for _, on := range d.Nodes[i].After {
			x1, y1 := spots[on].x+boxWidth, spots[on].y+boxHeight/2
			x2, y2 := spots[i].x, spots[i].y+boxHeight/2
			fmt.Fprintf(w, `<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="#9aa1ab"/>`+"\n", x1, y1, x1+gapX/2, y1, x2-gapX/2, y2, x2, y2)
		}
	}
	for i := range d.Nodes {
		writeBox(w, &d.Nodes[i], spots[i].x, spots[i].y)
	}
	fmt.Fprintln(w, "</svg>")
}

func writeBox(w io.Writer, n *node, x, y int) {
	label := cli.Printable(n.label())
	fmt.Fprintf(w, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="5" fill="#f7f8fa" stroke="#9aa1ab"/>`,
		html.EscapeString(strings.TrimSuffix(label+": "+n.counts(), ": ")), x, y, boxWidth, boxHeight)
	fmt.Fprintf(w, `<text x="%d" y="%d">%s</text>`, x+10, y+24, html.EscapeString(cli.Cut(label, mostLetter)))
	at := x + 8
	for _, s := range drawn {
		k := n.Statuses[s.status]
		if k == 0 {
			continue
		}
		wide := max((boxWidth-16)*k/n.Count, 1)
		fmt.Fprintf(w, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, at, y+boxHeight-barHeight-6, wide, barHeight, s.color)
		at += wide
	}
	fmt.Fprintln(w, "</g>")
}
