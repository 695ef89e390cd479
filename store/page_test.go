package store

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

func TestPagesShowEachRowOnceInAnyOrder(t *testing.T) {
	n := newNouns(t)
	var files []artifact.File
	for i := range 60 {
		files = append(files, artifact.File{WorkflowID: n.workflow, Name: fmt.Sprint(i % 3), Path: fmt.Sprint(i % 7)})
	}
	_, err := n.Files.Create(n.ctx, files)
	n.must(err)
	rapid.Check(t, func(t *rapid.T) {
		page := sqlite.Page{
			Limit:   rapid.Int64Range(1, 25).Draw(t, "limit"),
			SortBy:  rapid.SampledFrom([]string{"", "id", "name", "path", "st_mtime", "no_such_column"}).Draw(t, "sort_by"),
			Reverse: rapid.Bool().Draw(t, "reverse"),
		}
		var seen []int64
		for {
			items, total, err := n.Files.List(n.ctx, FileFilter{WorkflowID: n.workflow}, page)
			if err != nil || total != 60 {
				t.Fatalf("total %d, error %v", total, err)
			}
			if len(items) == 0 {
				break
			}
			for _, f := range items {
				seen = append(seen, f.ID)
			}
			page.Offset += int64(len(items))
		}
		slices.Sort(seen)
		if len(seen) != 60 || len(slices.Compact(seen)) != 60 {
			t.Fatalf("%d rows in the pages, %d different ones, want 60", len(seen), len(slices.Compact(seen)))
		}
	})
}

func TestContainsTakesWildcardsLiterally(t *testing.T) {
	n := newNouns(t)
	for _, path := range []string{"/a/100%", "/a/100x", `/a/b\c`, "/a/under_score", "/a/underXscore"} {
		_, err := n.Files.Create(n.ctx, []artifact.File{{WorkflowID: n.workflow, Name: "f", Path: path}})
		n.must(err)
	}
	for part, want := range map[string]int64{"100%": 1, "under_score": 1, `b\c`: 1, "UNDER": 2, "": 5, "nothing": 0} {
		_, total, err := n.Files.List(n.ctx, FileFilter{WorkflowID: n.workflow, Path: &part}, sqlite.Page{Limit: 10})
		if err != nil || total != want {
			t.Errorf("path contains %q: %d files, error %v; want %d", part, total, err, want)
		}
	}
}

func TestListOfAnUnknownWorkflow(t *testing.T) {
	n := newNouns(t)
	_, _, err := n.Files.List(n.ctx, FileFilter{WorkflowID: 99}, sqlite.Page{Limit: 10})
	wantCode(t, err, workflow.CodeNotFound)
	if want := "Workflow not found with ID: 99"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}
