// Shop orders: parsed, kept in maps, sorted, summed and written, with garbage to collect.
// usage: work ROUNDS [FUNCTION PERCENT]: the function does PERCENT of its work.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

type order struct {
	ID    int
	Price float64
	Name  string
}

var slowed, slowedPercent = "", 100

// steps returns the number of steps of a function: the usual number, or its percentage if it is slowed.
func steps(name string, usual int) int {
	if name == slowed {
		return usual * slowedPercent / 100
	}
	return usual
}

//go:noinline
func parseOrders(seed, count int) []*order {
	orders := []*order{}
	for i := 0; i < count; i++ {
		fields := strings.Split(fmt.Sprintf("%d;%d;article %d", seed+i, seed%997+i, seed%97+i), ";")
		id, _ := strconv.Atoi(fields[0])
		price, _ := strconv.ParseFloat(fields[1], 64)
		orders = append(orders, &order{id, price, fields[2]})
	}
	return orders
}

//go:noinline
func priceModel(orders []*order, count int) float64 {
	sum := 0.0
	for i := 0; i < count; i++ {
		o := orders[i%len(orders)]
		sum += o.Price / float64(1+o.ID%7+i)
	}
	return sum
}

//go:noinline
func indexOrders(orders []*order, count int) int {
	index := map[string]*order{}
	for i := 0; i < count; i++ {
		index[orders[i%len(orders)].Name+strconv.Itoa(i&255)] = orders[i%len(orders)]
	}
	return len(index)
}

//go:noinline
func sortOrders(orders []*order, times int) {
	for i := 0; i < times; i++ {
		for a, b := 0, len(orders)-1; a < b; a, b = a+1, b-1 {
			orders[a], orders[b] = orders[b], orders[a]
		}
		sort.Slice(orders, func(a, b int) bool { return orders[a].Price < orders[b].Price })
	}
}

//go:noinline
func checksum(memory []byte, count int) uint32 {
	a, b := uint32(1), uint32(0)
	for i := 0; i < count; i++ {
		a = (a + uint32(memory[i*67&(len(memory)-1)])) % 65521
		b = (b + a) % 65521
	}
	return b<<16 | a
}

//go:noinline
func writeReport(orders []*order, count int) []byte {
	text, _ := json.Marshal(orders[:count])
	return text
}

//go:noinline
func digest(text []byte, times int) byte {
	sum := byte(0)
	for i := 0; i < times; i++ {
		all := sha256.Sum256(text)
		sum += all[0]
	}
	return sum
}

//go:noinline
func countWords(text string, times int) int {
	words := 0
	for i := 0; i < times; i++ {
		words += len(strings.Fields(text))
	}
	return words
}

//go:noinline
func average(values []float64, count int) float64 {
	sum := 0.0
	for i := 0; i < count; i++ {
		sum += values[i*7%len(values)]
	}
	return sum / float64(count)
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	if len(os.Args) > 3 {
		slowed = os.Args[2]
		slowedPercent, _ = strconv.Atoi(os.Args[3])
	}
	memory := make([]byte, 1<<22)
	values := make([]float64, 4096)
	sum := 0.0
	for round := 0; round < rounds; round++ {
		orders := parseOrders(round, steps("parseOrders", 500))
		sum += priceModel(orders, steps("priceModel", 200000))
		sum += float64(indexOrders(orders, steps("indexOrders", 2000)))
		sortOrders(orders, steps("sortOrders", 4))
		sum += float64(checksum(memory, steps("checksum", 60000)))
		report := writeReport(orders, steps("writeReport", 300))
		sum += float64(digest(report, steps("digest", 10)))
		sum += float64(countWords(string(report), steps("countWords", 5)))
		sum += average(values, steps("average", 60000))
	}
	fmt.Fprintln(os.Stderr, sum)
}
