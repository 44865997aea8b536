package main

import (
	"os"
	"strconv"
)

type Till[T any] struct{ value T }

var sum uint64

func small(n uint64) uint64 {
	return n*n ^ sum
}

//go:noinline
func (t *Till[T]) inner(n uint64) {
	for i := uint64(0); i < n; i++ {
		sum += small(i)
	}
}

//go:noinline
func middle(n uint64) { t := Till[int]{}; t.inner(n); sum++ }

//go:noinline
func outer(n uint64) { middle(n); sum++ }

//go:noinline
func steady(n uint64) {
	for i := uint64(0); i < n; i++ {
		sum += small(i)
	}
}

func main() {
	percent := uint64(100)
	if len(os.Args) > 1 {
		percent, _ = strconv.ParseUint(os.Args[1], 10, 64)
	}
	for i := 0; i < 90; i++ {
		outer(20000 * percent)
		steady(2000000)
	}
}
