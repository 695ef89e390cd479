// Package row reads rows of the job database: which columns there are, what they
// mean, and what several rows amount to. It is below those who change rows (store),
// and those who check them (store/check).
package row
