package db

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/store"
)

// database is an empty one, as a file.
func database(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "torc.db")
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWhichDatabase: a command is about the file that is named, that of --standalone, or
// the one that a server would take.
func TestWhichDatabase(t *testing.T) {
	empty := database(t)
	check := func(args, file string, environ ...string) clitest.Case {
		return clitest.Case{Args: args, Files: map[string]string{file: empty}, Environ: environ, Want: clitest.Result{Stdout: "$DIR/" + file + " is sound\n"}}
	}
	clitest.Check(t, New,
		check("db check mine.db", "mine.db"),
		check("-s db check", "torc_output/torc.db"),
		check("-s --db other.db db check", "other.db"),
		check("-s db check mine.db --deep", "mine.db"),
		check("db check", ".local/state/torc-slurm/torc.db"),
		check("db check", "home/torc.db", "TORC_HOME=$DIR/home"),
		check("db check", "env.db", "DATABASE_URL=sqlite:env.db?mode=rwc"),
		check("db check sqlite://url.db", "url.db"),
		clitest.Case{Args: "db check", Environ: []string{"DATABASE_URL=sqlite::memory:"}, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: other programs cannot open a database in memory; name a file, for example a snapshot\n",
		}},
	)
}

func TestCheck(t *testing.T) {
	empty := database(t)
	files := map[string]string{"torc.db": empty, "text.db": "no database at all, but long enough to be looked at", "half.db": empty[:len(empty)/2], "out/spool/bad.spool": "x"}
	clitest.Check(t, New,
		clitest.Case{Args: "db check torc.db --deep -f json", Files: files, Want: clitest.Result{
			Stdout: `{
  "status": "ok",
  "database": "$DIR/torc.db",
  "deep": true,
  "findings": []
}
`,
		}},
		clitest.Case{Args: "db check torc.db --deep -o none", Files: files, Want: clitest.Result{Stdout: "$DIR/torc.db is sound\n"}},
		clitest.Case{Args: "db check none.db", Files: files, Want: clitest.Result{Status: 3, Stderr: "error: database $DIR/none.db does not exist\n"}},
		clitest.Case{Args: "db check text.db", Files: files, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: $DIR/text.db is not a database
hint: give the path of another file, or restore it from a backup
`,
		}},
		clitest.Case{Args: "db check text.db --deep", Files: files, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: $DIR/text.db is not a database
hint: give the path of another file, or restore it from a backup
`,
		}},
		clitest.Case{Args: "db check torc.db other.db", Files: files, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: accepts at most 1 arg(s), received 2; usage: torc-slurm db check [DATABASE] [flags]\n",
		}},
	)
	if got := clitest.Run(t, New, clitest.Case{Args: "db check half.db -f json", Files: files}); got.Status == 0 {
		t.Errorf("half of a database: %+v", got)
	}
}

// TestBackup: a copy is a database, and nothing is overwritten.
func TestBackup(t *testing.T) {
	files := map[string]string{"torc.db": database(t), "there.db": "mine"}
	made := clitest.Run(t, New, clitest.Case{Args: "db backup copy.db -d torc.db", Files: files, Read: []string{"copy.db"}})
	if made.Status != 0 || made.Stdout != "Wrote a copy of $DIR/torc.db to $DIR/copy.db\n" {
		t.Fatalf("exit status %d, %s%s", made.Status, made.Stdout, made.Stderr)
	}
	clitest.Check(t, New,
		clitest.Case{Args: "db check --deep copy.db", Files: made.Files, Want: clitest.Result{Stdout: "$DIR/copy.db is sound\n"}},
		clitest.Case{Args: "db backup copy.db -d torc.db -f json", Files: files, Want: clitest.Result{
			Stdout: `{
  "status": "success",
  "database": "$DIR/torc.db",
  "backup": "$DIR/copy.db"
}
`,
		}},
		clitest.Case{Args: "db backup there.db -d torc.db", Files: files, Read: []string{"there.db"}, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: $DIR/there.db already exists
hint: choose another name, or remove that file
`,
			Files: map[string]string{"there.db": "mine"},
		}},
		clitest.Case{Args: "db backup copy.db -d there.db", Files: files, Read: []string{"copy.db"}, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: $DIR/there.db is not a database
hint: give the path of another file, or restore it from a backup
`,
		}},
		clitest.Case{Args: "db backup away/copy.db -d torc.db", Files: files, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: back up $DIR/torc.db: database $DIR/away/copy.db.part cannot be opened
hint: check that its folder exists and that you may read and write it
`,
		}},
		clitest.Case{Args: "db backup copy.db -d none.db", Files: files, Read: []string{"copy.db", "none.db"}, Want: clitest.Result{Status: 3, Stderr: "error: database $DIR/none.db does not exist\n"}},
	)
}
