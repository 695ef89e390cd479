-- The size of a file when its time was recorded, in bytes; null: not known.
ALTER TABLE file ADD COLUMN size INTEGER;
