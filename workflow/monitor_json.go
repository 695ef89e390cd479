package workflow

import "encoding/json"

// What a resource monitor does that is not told otherwise.
const (
	defaultGranularity    = "summary"
	defaultSampleInterval = 10
	defaultFlushInterval  = 300
)

// UnmarshalJSON reads a configuration; a field that is not there has torc's
// default.
func (c *ResourceMonitorConfig) UnmarshalJSON(text []byte) error {
	type plain ResourceMonitorConfig
	v := plain{Granularity: defaultGranularity, SampleIntervalSeconds: defaultSampleInterval, FlushIntervalSeconds: defaultFlushInterval}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*c = ResourceMonitorConfig(v)
	return nil
}

// UnmarshalJSON reads the block; a field that is not there has torc's default.
func (c *JobMonitorConfig) UnmarshalJSON(text []byte) error {
	type plain JobMonitorConfig
	v := plain{Granularity: defaultGranularity}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*c = JobMonitorConfig(v)
	return nil
}

// UnmarshalJSON reads the block; a field that is not there has torc's default.
func (c *NodeMonitorConfig) UnmarshalJSON(text []byte) error {
	type plain NodeMonitorConfig
	v := plain{Granularity: defaultGranularity, CPU: true, Memory: true}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*c = NodeMonitorConfig(v)
	return nil
}
