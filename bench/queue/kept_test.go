package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What an interrupted run has kept is not simulated again, but for the contenders that are to be.
func TestKeptResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	open := func(again ...string) *kept {
		t.Helper()
		k, err := openKept(path, again)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.close() })
		return k
	}
	one, other := situation{"a site", "0/forty/3", 1}, situation{"another site", "0/forty/3", 1}
	k := open()
	if err := k.add(one, map[string]result{namePlanner: {Completion: 7}, nameOracle: {Completion: 5}}); err != nil {
		t.Fatal(err)
	}
	if err := k.add(other, map[string]result{namePlanner: {Completion: 8}}); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"Site":"a site","Ce`); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	again := open(namePlanner)
	if r := again.of(one); len(r) != 1 || r[nameOracle].Completion != 5 {
		t.Errorf("%+v", r)
	}
	if err := again.add(one, map[string]result{namePlanner: {Completion: 6}, nameOracle: {Completion: 5}}); err != nil {
		t.Fatal(err)
	}
	last := open()
	if r := last.of(one); len(r) != 2 || r[namePlanner].Completion != 6 {
		t.Errorf("%+v", r)
	}
	if r := last.of(other); len(r) != 1 || r[namePlanner].Completion != 8 {
		t.Errorf("%+v", r)
	}
}

// A run takes what is kept, and gives the same table.
func TestGridKeepsResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	c := cell{0, "forty", 3}
	table := func() string {
		k, err := openKept(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = k.close() }()
		g := grid{site: &site{nodes: 300}, cells: []cell{c}, seeds: 1, first: 2, workers: 1, kept: k, say: func(string, ...any) {}}
		f, err := g.run()
		if err != nil {
			t.Fatal(err)
		}
		return f.markdown(g.cells)
	}
	first := table()
	if again := table(); again != first {
		t.Errorf("%s\nis not\n%s", again, first)
	}
	k, err := openKept(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	about := situation{(&site{nodes: 300}).String(), c.String(), 2}
	if text, err := os.ReadFile(path); err != nil || bytes.Count(text, []byte("\n")) != 1 || !complete(k.of(about)) {
		t.Errorf("%v\n%s", err, text)
	}
	if err := k.add(about, map[string]result{namePlanner: {Finished: true, Completion: 7777}}); err != nil {
		t.Fatal(err)
	}
	_ = k.close()
	if other := table(); other == first {
		t.Error("kept results make no difference")
	}
}
