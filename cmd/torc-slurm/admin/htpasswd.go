package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// htpasswdFlags are the flags of htpasswd.
type htpasswdFlags struct {
	file     string
	password string
	cost     int
	// reload makes a server read the changed file; serverPassword is for that server.
	reload         bool
	serverPassword string
}

// NewHtpasswd returns the group of commands about a password file.
func NewHtpasswd(a *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "htpasswd",
		Short: "Manage the users and passwords of a shared server",
		Long: `Edit the file for serve --auth-file, which has a line for each user with the hash of the
password (bcrypt). The server reads the file when it starts, and on --reload-auth.
Everybody with a password can run commands as the user who runs the server.`,
		GroupID: cli.GroupServer,
		Example: `  torc-slurm htpasswd add --file users alice
  torc-slurm serve --auth-file users
  torc-slurm htpasswd add --file users bob --reload-auth --url http://localhost:8080`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var flags htpasswdFlags
	add := &cobra.Command{
		Use: "add USER", Short: "Add a user, or change the password of one", Args: cobra.ExactArgs(1),
		Example: `  torc-slurm htpasswd add --file users alice`,
		RunE:    func(c *cobra.Command, args []string) error { return addPassword(c.Context(), a, flags, args[0]) },
	}
	hash := &cobra.Command{
		Use: "hash [USER]", Short: "Print the line of a user for the file", Args: cobra.MaximumNArgs(1),
		Example: `  torc-slurm htpasswd hash alice`,
		RunE:    func(_ *cobra.Command, args []string) error { return hashPassword(a, flags, args) },
	}
	remove := &cobra.Command{
		Use: "remove USER", Short: "Remove a user", Args: cobra.ExactArgs(1),
		Example: `  torc-slurm htpasswd remove --file users alice`,
		RunE:    func(c *cobra.Command, args []string) error { return removePassword(c.Context(), a, flags, args[0]) },
	}
	list := &cobra.Command{
		Use: "list", Short: "List the users", Args: cobra.NoArgs,
		Example:     `  torc-slurm htpasswd list --file users`,
		Annotations: cli.WithCSV(cli.Exits("3 there is no such file", cli.ExitRefused)),
		RunE:        func(_ *cobra.Command, _ []string) error { return listPasswords(a, flags) },
	}
	verify := &cobra.Command{
		Use: "verify USER", Short: "Check the password of a user", Args: cobra.ExactArgs(1),
		Example: `  torc-slurm htpasswd verify --file users alice`,
		RunE:    func(_ *cobra.Command, args []string) error { return verifyPassword(a, flags, args[0]) },
	}
	for _, sub := range []*cobra.Command{add, remove, list, verify} {
		cli.FreeLetterF(a, sub) // as in torc-htpasswd
		sub.Flags().StringVarP(&flags.file, "file", "f", "", "`FILE` with the users")
		_ = sub.MarkFlagRequired("file")
	}
	for _, sub := range []*cobra.Command{add, hash, verify} {
		sub.Flags().StringVarP(&flags.password, "password", "p", "", "the password (default: ask for it, because others on this machine can see this one in the process list)")
	}
	for _, sub := range []*cobra.Command{add, remove} {
		sub.Flags().BoolVar(&flags.reload, "reload-auth", false, "make the server of --url read the changed file")
		sub.Flags().StringVar(&flags.serverPassword, "server-password", "", "`PASSWORD` for that server (TORC_PASSWORD)")
	}
	for _, sub := range []*cobra.Command{add, hash} {
		sub.Flags().IntVarP(&flags.cost, "cost", "c", access.DefaultCost, "cost of the hash: each increment of `N` doubles the time that a check takes")
	}
	c.AddCommand(add, hash, remove, list, verify)
	return c
}

// passwords returns the users in the file, or the error of reading it.
func passwords(a *cli.Factory, flags htpasswdFlags) (*access.Passwords, error) {
	p, warning, err := access.ReadPasswords(a.Path(flags.file))
	if warning != "" {
		a.Note("warning: %s", warning)
	}
	return p, err
}

// existingPasswords is like passwords, but a missing file is a not-found error with a hint.
func existingPasswords(a *cli.Factory, flags htpasswdFlags) (*access.Passwords, error) {
	p, err := passwords(a, flags)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, workflow.Errorf(workflow.CodeNotFound, "there is no password file %s", flags.file).WithHint("`%s htpasswd add` creates it", cli.Prefix(a))
	}
	return p, err
}

func writePasswords(ctx context.Context, a *cli.Factory, flags htpasswdFlags, p *access.Passwords) error {
	if err := trustedfile.Write(a.Path(flags.file), p.Text(), 0o600); err != nil {
		return fmt.Errorf("write the password file: %w", err)
	}
	if !flags.reload {
		a.Note("A server that uses %s reads it when it starts. To make a running one read it: %s admin reload-auth", flags.file, cli.Prefix(a))
		return nil
	}
	a.Flags.Password = flags.serverPassword
	return reloadAuth(ctx, a)
}

// passwordOf returns the password of the flag, or else asks for it.
func passwordOf(a *cli.Factory, flags htpasswdFlags, user string) (string, error) {
	if flags.password != "" {
		return flags.password, nil
	}
	return daemonlink.AskPassword(a, user)
}

func addPassword(ctx context.Context, a *cli.Factory, flags htpasswdFlags, user string) error {
	if !access.ValidUser(user) {
		return cli.UsageErrorf("%q is not a valid user name: it must not be empty or have spaces, # or :", user)
	}
	p, err := passwords(a, flags)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = &access.Passwords{}, nil
	}
	if err != nil {
		return err
	}
	password, err := passwordOf(a, flags, user)
	if err != nil {
		return err
	}
	hash, err := access.HashPassword(password, flags.cost)
	if err != nil {
		return err
	}
	p.Set(user, hash)
	return writePasswords(ctx, a, flags, p)
}

func hashPassword(a *cli.Factory, flags htpasswdFlags, args []string) error {
	user := ""
	if len(args) == 1 {
		user = args[0]
	}
	password, err := passwordOf(a, flags, cli.FirstOf(user, "the new user"))
	if err != nil {
		return err
	}
	hash, err := access.HashPassword(password, flags.cost)
	if err != nil {
		return err
	}
	if user != "" {
		hash = user + ":" + hash
	}
	fmt.Fprintln(a.Stdout, hash)
	return nil
}

func removePassword(ctx context.Context, a *cli.Factory, flags htpasswdFlags, user string) error {
	p, err := existingPasswords(a, flags)
	if err != nil {
		return err
	}
	if !p.Remove(user) {
		return workflow.Errorf(workflow.CodeNotFound, "%s has no user %s", flags.file, user)
	}
	return writePasswords(ctx, a, flags, p)
}

func listPasswords(a *cli.Factory, flags htpasswdFlags) error {
	p, err := existingPasswords(a, flags)
	if err != nil {
		return err
	}
	type user struct {
		Name string `json:"user"`
	}
	var users []user
	for _, name := range p.Users() {
		users = append(users, user{name})
	}
	return cli.ShowList(a, cli.List[user]{Things: "users", Columns: []cli.Column[user]{
		{Title: "User", Cell: func(u user) string { return u.Name }},
	}}, users)
}

func verifyPassword(a *cli.Factory, flags htpasswdFlags, user string) error {
	p, err := existingPasswords(a, flags)
	if err != nil {
		return err
	}
	password, err := passwordOf(a, flags, user)
	if err != nil {
		return err
	}
	if !p.Verify(user, password) {
		return cli.FailedErrorf("this is not the password of %s", user)
	}
	fmt.Fprintf(a.Stdout, "This is the password of %s\n", user)
	return nil
}
