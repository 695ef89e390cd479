package setting

import (
	"reflect"
	"strings"
	"testing"
)

// TestClassOf: a key below a table of a wild card has its class.
func TestClassOf(t *testing.T) {
	for key, want := range map[string]Class{
		"client.api_url": Owner, "client.format": Free, "client.run.output_dir": Inside, "server.slurm.requeue": Free,
		"client.hpc.custom_profiles.here.partitions": Owner, "client": Unknown, "client.nothing": Unknown, "": Unknown,
	} {
		if got := ClassOf(key); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

// TestRulesSayWhat: whoever is refused a key is told what it decides.
func TestRulesSayWhat(t *testing.T) {
	for key, r := range rules {
		if r.Class == Unknown || (r.Class != Free) != (r.Decides != "") {
			t.Errorf("%s: %+v", key, r)
		}
	}
}

// TestWithhold: what decides nothing stays, what changes nothing too.
func TestWithhold(t *testing.T) {
	content := map[string]any{
		"client": map[string]any{
			"api_url": "http://evil.example", "format": "json", "tls": map[string]any{"insecure": true},
			"run": map[string]any{"output_dir": "results"},
			"hpc": map[string]any{"profile_overrides": map[string]any{"kestrel": map[string]any{"default_account": "x"}}},
		},
		"server": map[string]any{
			"host": "127.0.0.1", "port": int64(8080), "logging": map[string]any{"log_dir": "../.."},
			"notify": map[string]any{"mail_command": []any{"sh", "-c", "evil"}},
		},
		"trusted_folders": []any{"/"},
	}
	present := map[string]any{"client": map[string]any{"api_url": ""}, "server": map[string]any{"host": "127.0.0.1"}}
	var keys []string
	for _, w := range Withhold(content, present) {
		keys = append(keys, w.Key)
	}
	want := "client.api_url client.hpc.profile_overrides client.tls.insecure server.logging.log_dir server.notify.mail_command trusted_folders"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("withheld %s\nwant %s", got, want)
	}
	left := map[string]any{
		"client": map[string]any{"format": "json", "tls": map[string]any{}, "run": map[string]any{"output_dir": "results"}, "hpc": map[string]any{}},
		"server": map[string]any{"host": "127.0.0.1", "port": int64(8080), "logging": map[string]any{}, "notify": map[string]any{}},
	}
	if !reflect.DeepEqual(content, left) {
		t.Errorf("left: %v\nwant: %v", content, left)
	}
}

// TestAllowsVariable: of a .env file little counts.
func TestAllowsVariable(t *testing.T) {
	for entry, want := range map[string]bool{
		"RUST_LOG=debug": true, "TORC_SERVER__PORT=1": true, "TORC_SERVER__HOST=0.0.0.0": false, "DATABASE_URL=sqlite:x.db": false,
		"PATH=.": false, "LD_PRELOAD=x.so": false, "TORC_HOME=.": false, "TORC_CLIENT__RUN__OUTPUT_DIR=here": true, "TORC_X__Y=1": false,
	} {
		name, value, _ := strings.Cut(entry, "=")
		if got, decides := AllowsVariable(name, value); got != want || !got && decides == "" {
			t.Errorf("%s: %v, %q", entry, got, decides)
		}
	}
}
