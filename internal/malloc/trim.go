// Package malloc gives memory of C libraries back to the system.
package malloc

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void trim(void) { malloc_trim(0); }
#else
static void trim(void) {}
#endif
*/
import "C"

// Trim gives back what C code has freed. The GNU C library keeps it otherwise,
// in an arena for each thread that has ever needed one. Elsewhere it does
// nothing.
func Trim() { C.trim() }
