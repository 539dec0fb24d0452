// Key streams of ChaCha20 per byte and path; draws of the CSPRNG. One thread.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "rand/csprng.h"
#include "rand/keystream.h"

namespace {

using namespace vfxgb;

void bytes(benchmark::State& state, std::size_t count) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

void keystream(benchmark::State& state, const KeystreamPath* path) {
  const auto blocks = static_cast<std::size_t>(state.range(0));
  const unsigned char key[32] = {1, 2, 3};
  std::vector<unsigned char> out(64 * blocks);
  for (auto _ : state) {
    chacha20_keystream(*path, key, out.data(), blocks);
    benchmark::DoNotOptimize(out.data());
  }
  bytes(state, out.size());
}

void csprng(benchmark::State& state) {
  std::vector<unsigned char> out(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    random_bytes(out.data(), out.size());
    benchmark::DoNotOptimize(out.data());
  }
  bytes(state, out.size());
}

BENCHMARK(csprng)->Arg(16)->Arg(4096);

}  // namespace

int main(int argc, char** argv) {
  for (const KeystreamPath* path : keystream_paths())
    benchmark::RegisterBenchmark((std::string("keystream/") + path->name).c_str(), keystream, path)->Arg(16)->Arg(1024);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
