package spec

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// table is the contents of a parameters file: one instance per row.
type table struct {
	columns []string
	rows    [][]Value
}

const tableHint = "paths are relative to the folder in which the command runs; use .csv, .json, .jsonl or .ndjson"

// readTable reads a table by the extension of its file.
func readTable(path string, read func(string) ([]byte, error)) (*table, error) {
	parse := map[string]func([]byte) (*table, error){
		".csv": readCSV, ".json": readJSONTable, ".jsonl": readJSONLines, ".ndjson": readJSONLines,
	}[strings.ToLower(filepath.Ext(path))]
	if parse == nil {
		return nil, bad(tableHint, "%s: unknown table format", path)
	}
	data, err := read(path)
	if err != nil {
		return nil, bad(tableHint, "cannot read the table: %v", err)
	}
	t, err := parse(data)
	if err != nil {
		return nil, bad("", "%s: %v", path, err)
	}
	if len(t.rows) == 0 {
		return nil, bad("add a row", "%s: the table has no rows", path)
	}
	return t, nil
}

func (t *table) addRow(row []Value) error {
	if len(t.rows) == maxInstances {
		return fmt.Errorf("more than %d rows", maxInstances)
	}
	t.rows = append(t.rows, row)
	return nil
}

func readCSV(data []byte) (*table, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	r.TrimLeadingSpace = true
	r.ReuseRecord = true
	t := &table{}
	for {
		record, err := r.Read()
		switch {
		case err == io.EOF && t.columns == nil:
			return nil, errors.New("the header row is missing")
		case err == io.EOF:
			return t, nil
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %d fields, the header has %d", line, len(record), len(t.columns))
		case err != nil:
			return nil, err
		}
		if t.columns == nil {
			if err := t.header(record); err != nil {
				return nil, err
			}
			continue
		}
		row := make([]Value, len(record))
		for i, cell := range record {
			row[i] = inferValue(strings.Clone(strings.TrimSpace(cell)))
		}
		if err := t.addRow(row); err != nil {
			return nil, err
		}
	}
}

func (t *table) header(record []string) error {
	seen := map[string]bool{}
	for i, cell := range record {
		name := strings.TrimSpace(cell)
		switch {
		case name == "":
			return fmt.Errorf("column %d has no name", i+1)
		case seen[name]:
			return fmt.Errorf("duplicate column %q", name)
		}
		seen[name] = true
		t.columns = append(t.columns, name)
	}
	return nil
}

func readJSONTable(data []byte) (*table, error) {
	n, err := readJSON(data, true)
	if err != nil {
		return nil, err
	}
	if n.kind != kindList {
		return nil, fmt.Errorf("expected a list of objects, found %s", n.kind.article())
	}
	t := &table{}
	for i, object := range n.items {
		if err := t.object(object); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	return t, nil
}

func readJSONLines(data []byte) (*table, error) {
	t := &table{}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		n, err := readJSON(line, true)
		if err == nil {
			err = t.object(n)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return t, nil
}

// object adds an object as a row. The keys of the first one are the columns; the others must
// have the same keys, in any order.
func (t *table) object(n *node) error {
	if n.kind != kindMap {
		return fmt.Errorf("expected an object, found %s", n.kind.article())
	}
	if t.columns == nil {
		names := make([]string, len(n.items))
		for i, c := range n.items {
			names[i] = c.key
		}
		if err := t.header(names); err != nil {
			return err
		}
		for i := range t.columns {
			t.columns[i] = names[i]
		}
	}
	row := make([]Value, len(t.columns))
	for i, name := range t.columns {
		c := n.child(name)
		if c == nil {
			return fmt.Errorf("the key %q of the first row is missing", name)
		}
		row[i] = c.value()
	}
	if len(n.items) != len(t.columns) {
		return fmt.Errorf("%d keys, the first row has %d", len(n.items), len(t.columns))
	}
	return t.addRow(row)
}

// value returns a node of a table as a value. Strings and numbers stay what they are; anything
// else becomes its JSON text.
func (n *node) value() Value {
	switch n.kind {
	case kindString:
		return StringValue(n.text)
	case kindInt:
		if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			return IntValue(i)
		}
		return FloatValue(n.float())
	case kindFloat:
		return FloatValue(n.float())
	}
	return StringValue(string(n.json()))
}
