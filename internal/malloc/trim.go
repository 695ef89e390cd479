// Package malloc returns memory of C libraries to the system.
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

// Trim returns memory that C code has freed to the system. The GNU C library would keep
// it, in an arena for each thread that has ever allocated. With other libraries it does
// nothing.
func Trim() { C.trim() }
