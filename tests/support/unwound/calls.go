package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
)

//go:noinline
func spin(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += i*i ^ (s >> 3)
	}
	return s
}

//go:noinline
func deep(d int) int {
	if d == 0 {
		return spin(4000)
	}
	return deep(d-1) + 1
}

//go:noinline
func thrower(d int) int {
	if d == 0 {
		spin(2000)
		panic("x")
	}
	return thrower(d-1) + 1
}

func catcher() (r int) {
	defer func() { recover(); r = spin(2000) }()
	return thrower(10)
}

type base interface{ run(int) int }
type text struct{}

func (text) run(n int) int {
	v := []string{}
	for i := 0; i < 60; i++ {
		v = append(v, strconv.Itoa(i*n))
	}
	sort.Strings(v)
	return len(v[3])
}

func work(rounds int) int {
	var b base = text{}
	sum := 0
	var again func(int) int
	again = func(d int) int {
		if d == 0 {
			return spin(4000)
		}
		return again(d-1) + 1
	}
	for i := 0; i < rounds; i++ {
		sum += b.run(i) + deep(i%90) + again(20) + catcher()
	}
	return sum
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	var group sync.WaitGroup
	for i := 0; i < 2; i++ {
		group.Add(1)
		go func() { work(rounds); group.Done() }()
	}
	fmt.Println(work(rounds))
	group.Wait()
}
