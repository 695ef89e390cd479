package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"
)

// kept are the results of earlier runs, in a file with a line for each cell and seed. An
// interrupted run goes on where it was, and a contender can be simulated again without the others.
type kept struct {
	file    *os.File
	mutex   sync.Mutex
	results map[situation]map[string]result
}

// situation says which simulations have the same results.
type situation struct {
	Site, Cell string
	Seed       uint64
}

// keptLine is a line of the file.
type keptLine struct {
	situation
	Results map[string]result
}

// openKept opens a file of results and reads those that it has, except those of some contenders. A
// later line counts more than an earlier one. A last line that is not whole is ignored.
func openKept(path string, again []string) (*kept, error) {
	k := &kept{results: make(map[situation]map[string]result)}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for text := range bytes.Lines(old) {
		var l keptLine
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		if k.results[l.situation] == nil {
			k.results[l.situation] = make(map[string]result)
		}
		maps.Copy(k.results[l.situation], l.Results)
	}
	for _, results := range k.results {
		for _, name := range again {
			delete(results, name)
		}
	}
	if k.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
		return nil, err
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		_, err = k.file.WriteString("\n")
	}
	return k, err
}

// of returns the results that are known of a situation; it is safe to use on nil.
func (k *kept) of(s situation) map[string]result {
	if k == nil {
		return nil
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return maps.Clone(k.results[s])
}

// add keeps results, those that were known included.
func (k *kept) add(s situation, results map[string]result) error {
	if k == nil {
		return nil
	}
	text, err := json.Marshal(keptLine{s, results})
	if err != nil {
		return err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if _, err := k.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("keep results: %w", err)
	}
	return nil
}

func (k *kept) close() error {
	if k == nil {
		return nil
	}
	return k.file.Close()
}
