package main

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

func main() {
	for i := 0; i < 9000; i++ {
		outer(20000)
	}
}
