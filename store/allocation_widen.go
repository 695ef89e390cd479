package store

import (
	"context"
	"fmt"
)

// WidenAllocation notes that Slurm may start a waiting allocation in any of some
// partitions, named as Slurm does, with commas.
func (s *Store) WidenAllocation(_ context.Context, id int64, partitions string) error {
	return s.writer.do("widen allocation", func(tx *Tx) error {
		_, err := tx.exec(`UPDATE allocation SET request = json_set(request, '$.partition', ?) WHERE id = ? AND state = 'pending'`, partitions, id)
		if err != nil {
			return fmt.Errorf("widen allocation %d: %w", id, err)
		}
		return nil
	})
}
