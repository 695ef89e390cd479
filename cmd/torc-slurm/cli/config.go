package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Config is the configuration of the files; its names and defaults are torc's.
type Config struct {
	// TrustedFolders are folders in and below which files are used even if other users
	// can write them, and a torc.toml may set everything.
	TrustedFolders []string     `toml:"trusted_folders,omitempty" json:"trusted_folders,omitempty"`
	Client         ClientConfig `toml:"client" json:"client"`
	Server         ServerConfig `toml:"server" json:"server"`
	MCP            MCPConfig    `toml:"mcp,omitempty" json:"mcp"`
	// Agents are further agents that the daemon can ask about held jobs, by name.
	Agents map[string]AgentConfig `toml:"agents,omitempty" json:"agents,omitempty"`
	Dash   map[string]any         `toml:"dash,omitempty" json:"dash,omitempty"`

	warnings []string
	withheld []withheldSetting
}

// ClientConfig configures the command line.
type ClientConfig struct {
	// APIURL is the server; the user's own daemon if empty.
	APIURL   string    `toml:"api_url" json:"api_url"`
	Format   string    `toml:"format" json:"format"`
	LogLevel string    `toml:"log_level" json:"log_level"`
	Run      RunConfig `toml:"run" json:"run"`
	TLS      TLSConfig `toml:"tls" json:"tls"`
	HPC      HPCConfig `toml:"hpc,omitempty" json:"hpc"`
	// The rest configures parts that this version does not have.
	Offline map[string]any `toml:"offline,omitempty" json:"offline,omitempty"`
	Slurm   map[string]any `toml:"slurm,omitempty" json:"slurm,omitempty"`
	Watch   map[string]any `toml:"watch,omitempty" json:"watch,omitempty"`
}

// MCPConfig configures the server for AI agents.
type MCPConfig struct {
	// Mode is what an agent may do: read, propose (if empty) or apply.
	Mode string `toml:"mode,omitempty" json:"mode,omitempty"`
	// Redact are regular expressions of further secrets.
	Redact []string `toml:"redact,omitempty" json:"redact,omitempty"`
}

// AgentConfig is how an agent is started. {brief}, {file}, {server}, {server_json} and
// {server_args} are replaced in all values.
type AgentConfig struct {
	Command []string `toml:"command" json:"command"`
	Environ []string `toml:"environ,omitempty" json:"environ,omitempty"`
	// File is the content of the file {file}; one that names our MCP server if empty.
	File string `toml:"file,omitempty" json:"file,omitempty"`
}

// RunConfig has the defaults of run and exec. Zero means all that the machine has, or no
// limit.
type RunConfig struct {
	PollInterval        float64 `toml:"poll_interval" json:"poll_interval"`                   // seconds
	ClaimBackoffMaxSecs float64 `toml:"claim_backoff_max_secs" json:"claim_backoff_max_secs"` // seconds
	MaxParallelJobs     int64   `toml:"max_parallel_jobs,omitempty" json:"max_parallel_jobs,omitempty"`
	OutputDir           string  `toml:"output_dir" json:"output_dir"`
	NumCPUs             int64   `toml:"num_cpus,omitempty" json:"num_cpus,omitempty"`
	MemoryGB            float64 `toml:"memory_gb,omitempty" json:"memory_gb,omitempty"` // GiB
	NumGPUs             int64   `toml:"num_gpus,omitempty" json:"num_gpus,omitempty"`
	// Resume says what run and submit do about an earlier workflow of a specification:
	// never (if empty), ask or always continue it.
	Resume string `toml:"resume,omitempty" json:"resume,omitempty"`
}

// TLSConfig has the trusted certificates.
type TLSConfig struct {
	CACert   string `toml:"ca_cert,omitempty" json:"ca_cert,omitempty"`
	Insecure bool   `toml:"insecure" json:"insecure"`
}

// ServerConfig has the defaults of serve.
type ServerConfig struct {
	LogLevel                    string  `toml:"log_level" json:"log_level"`
	Host                        string  `toml:"host" json:"host"`
	URL                         string  `toml:"url,omitempty" json:"url,omitempty"` // another name of host
	Port                        int     `toml:"port" json:"port"`
	Threads                     int     `toml:"threads" json:"threads"`
	Database                    string  `toml:"database,omitempty" json:"database,omitempty"`
	CompletionCheckIntervalSecs float64 `toml:"completion_check_interval_secs" json:"completion_check_interval_secs"`
	// IdleTimeoutSecs is how long a daemon that was started on demand runs when nobody
	// needs it; half an hour if zero.
	IdleTimeoutSecs float64 `toml:"idle_timeout_secs,omitempty" json:"idle_timeout_secs,omitempty"`
	// LeaseSecs is how long a runner's leases last after its last turn; 60 if zero.
	LeaseSecs float64 `toml:"lease_secs,omitempty" json:"lease_secs,omitempty"`
	// AllowedHosts are further host names of the server, and hosts of web pages that
	// may use it.
	AllowedHosts []string `toml:"allowed_hosts,omitempty" json:"allowed_hosts,omitempty"`
	// NodeHost is this host's address for compute nodes and other login nodes.
	NodeHost               string            `toml:"node_host,omitempty" json:"node_host,omitempty"`
	Slurm                  SlurmServerConfig `toml:"slurm,omitempty" json:"slurm"`
	Notify                 NotifyConfig      `toml:"notify,omitempty" json:"notify"`
	Logging                LoggingConfig     `toml:"logging" json:"logging"`
	HTTPS                  bool              `toml:"https,omitempty" json:"https,omitempty"`
	TLSCert                string            `toml:"tls_cert,omitempty" json:"tls_cert,omitempty"`
	TLSKey                 string            `toml:"tls_key,omitempty" json:"tls_key,omitempty"`
	AuthFile               string            `toml:"auth_file,omitempty" json:"auth_file,omitempty"`
	RequireAuth            bool              `toml:"require_auth,omitempty" json:"require_auth,omitempty"`
	CredentialCacheTTLSecs *int64            `toml:"credential_cache_ttl_secs,omitempty" json:"credential_cache_ttl_secs,omitempty"`
	EnforceAccessControl   bool              `toml:"enforce_access_control,omitempty" json:"enforce_access_control,omitempty"`
	AdminUsers             []string          `toml:"admin_users,omitempty" json:"admin_users,omitempty"`
	DisableAdminSQL        bool              `toml:"disable_admin_sql,omitempty" json:"disable_admin_sql,omitempty"`
	DisableAdminSQLWrites  bool              `toml:"disable_admin_sql_writes,omitempty" json:"disable_admin_sql_writes,omitempty"`
}

// NotifyConfig has the recipients of alerts about workflows that name none, and how
// messages are sent.
type NotifyConfig struct {
	On      []string `toml:"on,omitempty" json:"on,omitempty"`
	Mail    string   `toml:"mail,omitempty" json:"mail,omitempty"`
	Webhook string   `toml:"webhook,omitempty" json:"webhook,omitempty"`
	// MailCommand sends mail, ["mail", "-s", "{subject}", "{address}"] if empty; the
	// text is its standard input.
	MailCommand []string `toml:"mail_command,omitempty" json:"mail_command,omitempty"`
	// IntervalSecs is the minimum time between messages about a workflow to an
	// address; 600 if zero.
	IntervalSecs float64 `toml:"interval_secs,omitempty" json:"interval_secs,omitempty"`
}

// Options returns the options of a daemon.
func (n *NotifyConfig) Options() (server.NotifyOptions, error) {
	o := server.NotifyOptions{MailCommand: n.MailCommand, Interval: Seconds(n.IntervalSecs)}
	if len(n.On) == 0 && n.Mail == "" && n.Webhook == "" {
		return o, nil
	}
	o.Default = &workflow.NotifyPolicy{Mail: n.Mail, Webhook: n.Webhook}
	for _, kind := range n.On {
		o.Default.On = append(o.Default.On, workflow.AlertKind(kind))
	}
	return o, workflow.ProblemsError("configuration: server.notify", o.Default.Validate())
}

// LoggingConfig configures the daemon's log.
type LoggingConfig struct {
	LogDir   string `toml:"log_dir,omitempty" json:"log_dir,omitempty"`
	JSONLogs bool   `toml:"json_logs" json:"json_logs"`
}

// DefaultConfig returns the configuration without any file.
func DefaultConfig() *Config {
	return &Config{
		Client: ClientConfig{
			Format: FormatTable, LogLevel: "warn",
			Run: RunConfig{PollInterval: 5, ClaimBackoffMaxSecs: 300, OutputDir: "torc_output"},
		},
		Server: ServerConfig{
			LogLevel: "info", Host: "127.0.0.1", Port: 8080, Threads: 1, CompletionCheckIntervalSecs: 30, Slurm: SlurmServerConfig{Forecast: true},
		},
	}
}

// ConfigFile is a possible configuration file.
type ConfigFile struct {
	Kind string `json:"kind"` // system, user, or localConfig
	Path string `json:"path"`
}

// LocalConfig is the kind of the file in the current folder.
const LocalConfig = "local"

// ConfigFiles returns the possible configuration files, in the order in which they are
// read; a later one takes precedence.
func ConfigFiles(env *Environment) []ConfigFile {
	return []ConfigFile{
		{"system", "/etc/torc/config.toml"},
		{"user", filepath.Join(env.UserConfigDir(), "torc", "config.toml")},
		{LocalConfig, env.Path("torc.toml")},
	}
}

// LoadConfig reads the files and the variables TORC_<SECTION>__<FIELD>. It returns an error
// for a file or value that cannot be parsed.
func LoadConfig(env *Environment) (*Config, error) {
	c := DefaultConfig()
	for _, f := range ConfigFiles(env) {
		if f.Kind == LocalConfig {
			c.Trust(env)
			if err := c.readLocal(f.Path); err != nil {
				return nil, err
			}
			continue
		}
		if err := c.Read(f.Path); err != nil {
			return nil, err
		}
	}
	return c, c.readVariables(env.Environ)
}

// Warnings returns which settings of files and variables are ignored, and why.
func (c *Config) Warnings() []string { return c.warnings }

// Trust makes the program trust the folders that the user's own configuration names.
func (c *Config) Trust(env *Environment) {
	var folders []string
	for _, dir := range c.TrustedFolders {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(env.userHome(), rest)
		}
		if !filepath.IsAbs(dir) {
			c.warnings = append(c.warnings, fmt.Sprintf("trusted_folders: %s is not an absolute path and is ignored", dir))
		}
		folders = append(folders, dir)
	}
	trustedfile.Trust(folders)
}

// Read merges a file into the configuration, if it exists. It returns an error if other
// users could have written it.
func (c *Config) Read(path string) error {
	text, err := trustedfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if workflow.CodeOf(err) == workflow.CodeForbidden {
		return err
	}
	if err != nil {
		return workflow.Errorf(workflow.CodeInvalid, "configuration file: %v", err)
	}
	return c.lay(path, text)
}

// lay merges the text of a file into the configuration.
func (c *Config) lay(path string, text []byte) error {
	meta, err := toml.NewDecoder(strings.NewReader(string(text))).Decode(c)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		return workflow.Errorf(workflow.CodeInvalid, "%s:%d: %s", path, syntax.Position.Line, FirstOf(syntax.Message, syntax.Error()))
	case err != nil:
		return workflow.Errorf(workflow.CodeInvalid, "%s: %s", path, strings.TrimPrefix(err.Error(), "toml: "))
	}
	for _, key := range meta.Undecoded() {
		c.warnings = append(c.warnings, fmt.Sprintf("%s: unknown key %s", path, key))
	}
	return nil
}

// readVariables merges variables such as TORC_CLIENT__RUN__OUTPUT_DIR=x into the
// configuration.
func (c *Config) readVariables(environ []string) error {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		path, ok := strings.CutPrefix(name, "TORC_")
		if !ok || !strings.Contains(path, "__") || value == "" {
			continue
		}
		err := setField(reflect.ValueOf(c).Elem(), strings.Split(strings.ToLower(path), "__"), value)
		if errors.Is(err, errNoField) {
			c.warnings = append(c.warnings, fmt.Sprintf("the variable %s names no setting", name))
		} else if err != nil {
			return workflow.Errorf(workflow.CodeInvalid, "variable %s: %v", name, err)
		}
	}
	return nil
}

var errNoField = errors.New("no such field")

// setField sets the field of a struct by its path of toml names. The error is errNoField if
// there is none.
func setField(v reflect.Value, path []string, value string) error {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
		if name != path[0] || name == "" {
			continue
		}
		field := v.Field(i)
		if len(path) > 1 {
			if field.Kind() != reflect.Struct {
				return errNoField
			}
			return setField(field, path[1:], value)
		}
		return setValue(field, value)
	}
	return errNoField
}

func setValue(field reflect.Value, value string) error {
	switch field.Kind() {
	case reflect.String:
		field.SetString(value)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is not true or false", value)
		}
		field.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", value)
		}
		field.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", value)
		}
		field.SetFloat(f)
	case reflect.Slice:
		field.Set(reflect.ValueOf(strings.Split(value, ",")))
	default:
		return errNoField
	}
	return nil
}

// HPCConfig configures clusters.
type HPCConfig struct {
	DefaultAccount   string                 `toml:"default_account,omitempty" json:"default_account,omitempty"`
	ProfileOverrides map[string]HPCOverride `toml:"profile_overrides,omitempty" json:"profile_overrides,omitempty"`
	CustomProfiles   map[string]HPCProfile  `toml:"custom_profiles,omitempty" json:"custom_profiles,omitempty"`
}

// HPCOverride overrides settings of a profile.
type HPCOverride struct {
	DefaultAccount string `toml:"default_account,omitempty" json:"default_account,omitempty"`
}

// HPCProfile is a cluster that the user describes; a file in the folder of sites has more
// keys.
type HPCProfile struct {
	DisplayName     string         `toml:"display_name,omitempty" json:"display_name,omitempty"`
	Description     string         `toml:"description,omitempty" json:"description,omitempty"`
	DetectEnvVar    string         `toml:"detect_env_var,omitempty" json:"detect_env_var,omitempty"` // NAME or NAME=value
	DetectHostname  string         `toml:"detect_hostname,omitempty" json:"detect_hostname,omitempty"`
	DefaultAccount  string         `toml:"default_account,omitempty" json:"default_account,omitempty"`
	ChargeFactorCPU *float64       `toml:"charge_factor_cpu,omitempty" json:"charge_factor_cpu,omitempty"` // 1
	ChargeFactorGPU *float64       `toml:"charge_factor_gpu,omitempty" json:"charge_factor_gpu,omitempty"` // 10
	Partitions      []HPCPartition `toml:"partitions" json:"partitions"`
}

// HPCPartition is a partition of an HPCProfile.
type HPCPartition struct {
	Name                    string `toml:"name" json:"name"`
	Description             string `toml:"description,omitempty" json:"description,omitempty"`
	CPUsPerNode             int64  `toml:"cpus_per_node" json:"cpus_per_node"`
	MemoryMB                int64  `toml:"memory_mb" json:"memory_mb"`
	MaxWalltimeSecs         int64  `toml:"max_walltime_secs" json:"max_walltime_secs"`
	GPUsPerNode             int64  `toml:"gpus_per_node,omitempty" json:"gpus_per_node,omitempty"`
	GPUType                 string `toml:"gpu_type,omitempty" json:"gpu_type,omitempty"`
	GPUMemoryGB             int64  `toml:"gpu_memory_gb,omitempty" json:"gpu_memory_gb,omitempty"`
	Shared                  bool   `toml:"shared,omitempty" json:"shared,omitempty"`
	RequiresExplicitRequest bool   `toml:"requires_explicit_request,omitempty" json:"requires_explicit_request,omitempty"`
}
