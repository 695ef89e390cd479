package workflow_test

const nowMS = int64(1_700_000_000_000)

func ptr[T any](v T) *T { return &v }
