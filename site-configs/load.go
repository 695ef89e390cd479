package siteconfigs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Parse parses the file of a site. The name is for messages.
func Parse(file string, text []byte) (*Site, error) {
	return Overlay(&Site{ChargeFactorCPU: 1, ChargeFactorGPU: 10}, file, text)
}

// Overlay returns a site changed by a file: the file overrides the site. Partitions are
// matched by name; new ones are added. base is not modified.
func Overlay(base *Site, file string, text []byte) (*Site, error) {
	site, incomplete, err := overlay(base, file, text)
	if err == nil {
		err = incomplete
	}
	if err != nil {
		return nil, err
	}
	return site, nil
}

// overlay distinguishes an invalid file from one that leaves the site incomplete.
func overlay(base *Site, file string, text []byte) (site *Site, incomplete, err error) {
	root, err := parseYAML(file, text)
	if err != nil {
		return nil, nil, err
	}
	site = base.clone()
	d := decoder{file: file}
	d.site(root, site)
	if len(d.problems) > 0 {
		return nil, nil, d.err()
	}
	d.validate(root, site)
	return site, d.err(), nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parseYAML parses a file with one document.
func parseYAML(file string, text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, workflow.Errorf(workflow.CodeInvalid, "%s:1:1: the file is empty", file)
	} else if err != nil {
		line := "1"
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
			line = m[1]
		}
		return nil, workflow.Errorf(workflow.CodeInvalid, "%s:%s:1: %s", file, line, yamlLine.ReplaceAllString(err.Error(), ""))
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, workflow.Errorf(workflow.CodeInvalid, "%s: only one document per file is allowed", file)
	}
	return doc.Content[0], nil
}

// err returns the problems found so far, nil if there are none.
func (d *decoder) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalid, "%s", strings.Join(d.problems, "\n"))
}

// validate checks the complete site.
func (d *decoder) validate(root *yaml.Node, s *Site) {
	if s.Name == "" {
		d.fail(root, "the site has no name")
	}
	if len(s.Partitions) == 0 {
		d.fail(root, "the site has no partitions")
	}
	if t := s.ClassifyTimeout; t != (ClassifyTimeout{}) {
		at := child(root, "classify_timeout")
		if t.After < time.Second {
			d.fail(at, "classify_timeout.after: write a time such as 48h")
		}
		if !slices.Contains([]string{"", "fail", "retry"}, t.OnTimeout) {
			d.fail(at, "classify_timeout.on_timeout: %q is not fail or retry", t.OnTimeout)
		}
	}
	for i, sign := range s.Detection {
		at := element(child(root, "detection"), i)
		if sign == (DetectionRule{}) || sign.Env == "" && sign.Value != "" {
			d.fail(at, "a detection rule needs env (and its value), hostname or cluster")
		}
		if _, err := regexp.Compile(sign.Hostname); err != nil {
			d.fail(at, "hostname is not a regular expression: %v", err)
		}
	}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		at := partitionNode(root, p.Name)
		switch {
		case p.CPUsPerNode < 1:
			d.fail(at, "the partition %s has no cpus_per_node", p.Name)
		case p.MemoryMB < 1:
			d.fail(at, "the partition %s has no memory_mb", p.Name)
		case p.MaxNodes > 0 && p.MinNodes > p.MaxNodes:
			d.fail(at, "the partition %s has more min_nodes than max_nodes", p.Name)
		}
	}
}

// child returns the value of a key, or the map itself.
func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return n
}

// element returns an element of a list, or the list itself.
func element(n *yaml.Node, i int) *yaml.Node {
	if n.Kind == yaml.SequenceNode && i < len(n.Content) {
		return n.Content[i]
	}
	return n
}

// partitionNode returns the position of a partition in a file.
func partitionNode(root *yaml.Node, name string) *yaml.Node {
	list := child(root, "partitions")
	for _, n := range list.Content {
		if n.Kind == yaml.MappingNode && child(n, "name").Value == name {
			return n
		}
	}
	return list
}

// Format returns a site as a file for Parse.
func Format(s *Site) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("write site %s: %w", s.Name, err)
	}
	return b.Bytes(), nil
}
