// How fast does klauspost/reedsolomon encode 4+2? Objects of 64 KiB and 1 MiB, a quarter to a cell,
// one thread, as ec_bench.cc measures hexad's codecs. Prints the JSON of Google Benchmark, so that
// the suite takes both alike; bytes_per_second counts user data by processor time, as there.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/klauspost/reedsolomon"
)

const (
	k = 4
	m = 2
)

type run struct {
	RunName        string  `json:"run_name"`
	RunType        string  `json:"run_type"`
	BytesPerSecond float64 `json:"bytes_per_second"`
}

func stripe(cell int) [][]byte {
	shards := reedsolomon.AllocAligned(k+m, cell)
	for i := range shards {
		for at := range shards[i] {
			shards[i][at] = byte((at*167 + i*59) >> 3)
		}
	}
	return shards
}

// Processor time of the whole process, its collector of garbage included.
func processorSeconds() (float64, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, err
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds(), nil
}

// Encodes for as long as asked; then one lost cell must come back as it was.
func measure(size int, seconds float64) (run, error) {
	cell := size / k
	encoder, err := reedsolomon.New(k, m, reedsolomon.WithMaxGoroutines(1))
	if err != nil {
		return run{}, err
	}
	shards := stripe(cell)
	rounds := 0
	before, err := processorSeconds()
	if err != nil {
		return run{}, err
	}
	start := time.Now()
	for time.Since(start).Seconds() < seconds || rounds == 0 {
		if err := encoder.Encode(shards); err != nil {
			return run{}, err
		}
		rounds++
	}
	after, err := processorSeconds()
	if err != nil {
		return run{}, err
	}
	lost := shards[0]
	shards[0] = nil
	if err := encoder.Reconstruct(shards); err != nil {
		return run{}, err
	}
	if !bytes.Equal(lost, shards[0]) {
		return run{}, fmt.Errorf("the cell that was lost came back with other bytes")
	}
	name := fmt.Sprintf("encode/4+2/klauspost:reedsolomon/cell:%d", cell)
	return run{name, "iteration", float64(rounds*size) / (after - before)}, nil
}

func main() {
	seconds := flag.Float64("seconds", 0.5, "of each run")
	repetitions := flag.Int("repetitions", 1, "runs of each size")
	flag.Parse()
	var runs []run
	for range *repetitions {
		for _, size := range []int{64 << 10, 1 << 20} {
			one, err := measure(size, *seconds)
			if err != nil {
				fmt.Fprintln(os.Stderr, "coding:", err)
				os.Exit(1)
			}
			runs = append(runs, one)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string][]run{"benchmarks": runs}); err != nil {
		fmt.Fprintln(os.Stderr, "coding:", err)
		os.Exit(1)
	}
}
